"""Claims on paths in Git checkouts, for agents and people who work side by side.

Importing this package does nothing: hooks import modules of it on their hot path.
"""

__version__ = "0.1.0"
