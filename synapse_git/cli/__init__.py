"""The command line: verbs, their options, their output."""
