"""The watcher: sees what is written in checkouts, whoever writes it, and asks the hub whose it was to write."""
