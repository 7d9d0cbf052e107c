"""Where events are kept: durable, chained, and never silently shorter than they were."""
