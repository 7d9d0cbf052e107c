"""What the hub knows and decides, pure: no clock, no I/O, no threads."""
