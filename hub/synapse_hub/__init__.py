"""The hub: the one process on a machine that grants claims. Started by whoever needs it first."""
