"""What all events share."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="kind"):
    """Base of all. ``at``: the lease clock's instant at which it was decided."""

    at: float


class Holder(msgspec.Struct, frozen=True, gc=False):
    """Who was in the way, in evidence."""

    namespace: str
    task_id: str
    owner: str
