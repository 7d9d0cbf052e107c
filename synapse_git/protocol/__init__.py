"""The wire: what each route takes and gives. A module for each family of routes.

A path travels as text, or as ``{"b64": …}`` where its bytes are not UTF-8. Times are Unix seconds of the hub.
Headers: ``Synapse-Protocol`` (version), ``Idempotency-Key``, ``Synapse-Session``; for streamed paths also
``Synapse-Agent``, ``Synapse-Namespace``, ``Synapse-Worktree`` (percent-encoded), ``Synapse-Action``,
``Synapse-Unclaimed``. ``Synapse-Query`` on the guard asks without extending or recording anything, ``Synapse-Claim``
claims what is free, ``Synapse-Moved`` records what has happened already, ``Synapse-Overriding`` leaves it to the
override to come. Any request may name its agent in
``Synapse-Agent``.
"""
