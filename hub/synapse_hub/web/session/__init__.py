"""``WS /v2/session``: the connection that a name is bound to."""
