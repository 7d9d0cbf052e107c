"""Several hubs: who they are to one another, which of them owns a namespace, and what one asks of another."""
