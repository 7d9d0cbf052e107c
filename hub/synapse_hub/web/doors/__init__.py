"""Where requests come in: the socket, listeners, and a doorkeeper for each."""
