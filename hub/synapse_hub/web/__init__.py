"""The hub's HTTP face: routes, problem documents, the socket and its deadlines."""
