"""What Git starts: shims, the check they run, and their installation. Stdlib only on the hot path."""
