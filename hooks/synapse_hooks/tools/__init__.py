"""What coding agents start before and after they use a tool: one adapter per harness, and what they share."""
