"""What `doctor` looks at, proves and mends."""
