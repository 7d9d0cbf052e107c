"""Putting the guard into a repository, and taking it out."""
