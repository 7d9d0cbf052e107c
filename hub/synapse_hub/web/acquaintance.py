"""Which agents this hub has met or heard of, so that a name that was mistyped is not spoken to for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from urllib.parse import quote, unquote

from synapse_hub.web.desk import Desk

UNMET = "synapse-unmet"
_NOBODY_NEAR = "*"
_NEAR = 3


def stranger(desk: Desk, name: str) -> dict[str, str]:
    """A header for the answer where nobody called ``name`` was ever met, with those who may be meant; else none."""
    if _met(desk, name):
        return {}
    known = set(_known(desk))
    if name in known:
        return {}
    return {UNMET: _written(_near(name, known))}


def renamed(value: str, say: Callable[[str], str]) -> str:
    """The value of such a header with everyone as ``say`` calls them."""
    return value if value == _NOBODY_NEAR else _written([say(unquote(name)) for name in value.split(",")])


def _written(names: Iterable[str]) -> str:
    return ",".join(quote(name, safe="/") for name in names) or _NOBODY_NEAR


def _near(name: str, known: Iterable[str]) -> list[str]:
    called = name.rpartition("/")[2]
    namesakes = sorted(one for one in known if one.rpartition("/")[2] == called)
    if not namesakes:
        import difflib  # rarely wanted

        namesakes = difflib.get_close_matches(name, sorted(known), _NEAR)
    return namesakes[:_NEAR]


def _met(desk: Desk, name: str) -> bool:
    """Without looking at everyone."""
    state = desk.hub.state
    seen = (state.principals, state.mail.watermarks, state.names.absent, state.names.keys)
    return name in state.names.live or any(table.get(name) for table in seen)


def _known(desk: Desk) -> Iterator[str]:
    """Everyone; a name may come more than once."""
    state, now = desk.hub.state, desk.hub.now()
    mail, names = state.mail, state.names
    yield from chain(state.principals.entries, mail.watermarks.entries, names.live, names.absent.entries)
    yield from (message.sent.sender for message in chain(mail.chat, *mail.boxes.values()) if not message.notice)
    yield from (place.agent for place in state.worktrees.values() if place.agent)
    yield from desk.announcements.everyone()
    yield from desk.mentions.everyone()
    for peer in desk.embassy.observed.values():
        yield from (claim.owner for claim in peer.view.claims(now))
