"""Measures, each beside the floor it is held to. ``python -m tests.bench [NAME…]``."""
