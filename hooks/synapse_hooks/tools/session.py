"""The two ends of a session: what others hold when it begins, and what was claimed for it goes back when it is over."""

from __future__ import annotations

import time

from synapse_git import binding, document, explain, identity, scope, starter
from synapse_git.constants import HOOK_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable
from synapse_git.policy import AUTOMATIC
from synapse_hooks.tools import mention, occasion, place
from synapse_hooks.verdict import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.exchange import Line
    from synapse_hooks.tools.occasion import Occasion

_PAGE = 1000
# What the second line of the news names.
_HOLDERS, _PATHS = 3, 3


def news(found: Occasion, env: Mapping[str, str]) -> str:
    """What others hold where the session begins, in three lines, and a line on messages that wait for it; '' if there
    is nothing of either, or no hub runs.
    """
    here = place.around(found.cwd, env)
    tree = here.tree() if here else ""
    line = _connect(env, here) if tree else None
    if here is None or line is None:
        return ""
    me = identity.of_session(found.harness, found.session, found.subagent, env, here.outer.git_dir)
    try:
        with line:
            claims = list(_claims(line, f"&worktree={quote(tree)}"))
            waiting = _waiting(line, me, env) if me else 0
    except HubUnreachable:
        return ""
    parts = [_holding(claims, me), mention.text(waiting) if waiting else ""]
    return "\n".join(filter(None, parts))


def _waiting(line: Line, me: str, env: Mapping[str, str]) -> int:
    answer = line.ask("GET", f"/v2/messages?agent={quote(me)}", identity.proof(env))
    return int(document.read(answer.body)["pending"]) if answer.status == 200 else 0


def _holding(claims: Sequence[dict[str, Any]], me: str) -> str:
    others = [claim for claim in claims if claim["owner"] != me and not identity.acts_for(me, claim["owner"])]
    if not others:
        return ""
    name = f"You are {me} in this checkout. " if me else ""
    return (
        f"{name}Others hold files in it; edits and commits of those are refused:\n"
        f"{'; '.join(_held(others))}\n"
        "What you edit is claimed for you until it is committed. See all that is held: synapse-git status"
    )


def _held(others: Sequence[dict[str, Any]]) -> Iterator[str]:
    """``ana holds src/a.py, src/b.py and 3 more until 14:05`` for some, and how many more there are."""
    for claim in others[:_HOLDERS]:
        paths = [scope.show(explain.wire_path(path)) for path in claim["paths"]] or ["everything"]
        more = f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
        until = explain.moment(claim["lease_expires_at"] + claim["ahead"])
        yield f"{explain.said(claim['owner'])} holds {', '.join(paths[:_PATHS])}{more} until {until}"
    if len(others) > _HOLDERS:
        yield f"{len(others) - _HOLDERS} more claims"


def end(found: Occasion, env: Mapping[str, str]) -> None:
    """Give back what was claimed for the session by its edits, in whatever checkout; claims made by name stay.

    What was claimed for a subagent that ends goes to the session, which has its work now.
    """
    here = place.around(found.cwd, env)
    me = identity.of_session(found.harness, found.session, found.subagent, env, here.outer.git_dir if here else "")
    single = found.moment == occasion.SUBAGENT_END
    heir = identity.of_session(found.harness, found.session, "", env, "") if single else ""
    line = _connect(env, here) if me and me != heir else None
    if line is None:
        return
    try:
        with line:
            for claim in list(_claims(line, f"&agent={quote(me)}" if single else "")):
                ours = claim["owner"] == me or identity.acts_for(me, claim["owner"])
                if ours and claim["task_id"].startswith(AUTOMATIC):
                    _end_one(line, claim, heir, env)
    except HubUnreachable:
        pass  # they run out


def pause(found: Occasion, env: Mapping[str, str]) -> None:
    """A turn is over, where nobody tells of a session's end: give back what has nothing uncommitted in it."""
    from synapse_hooks import settlement

    here = place.around(found.cwd, env)
    line = _connect(env, here) if here else None
    if here is None or line is None:
        return
    me = identity.of_session(found.harness, found.session, "", env, here.outer.git_dir)
    try:
        with line:
            claims = [one for one in _claims(line, f"&agent={quote(me)}") if _automatic_in(one, here.tree())]
            if not claims:
                return
            dirty = settlement.Reach(settlement.names_of(settlement.unfinished(here, env), here))
            for claim in claims:
                held = [explain.wire_path(path) for path in claim["paths"]]
                kept = [path for path in held if dirty.touches(path)]
                if kept != held:
                    settlement.give_back(line, claim, kept, env)
    except HubUnreachable:
        pass  # they run out


def _automatic_in(claim: dict[str, Any], tree: str) -> bool:
    return bool(claim["worktree"] == tree and claim["task_id"].startswith(AUTOMATIC))


def _end_one(line: Line, claim: dict[str, Any], heir: str, env: Mapping[str, str]) -> None:
    """The epoch makes sure that it is still the very same claim."""
    body = {name: claim[name] for name in ("task_id", "namespace", "epoch")} | {"agent": claim["owner"]}
    target = "/v2/handoff" if heir else "/v2/release"
    if heir:
        body["to"] = heir
    headers = [("Content-Type", "application/json"), *identity.proof(env)]
    line.ask("POST", target, headers, document.write(body).encode())


def _connect(env: Mapping[str, str], here: Checkout | None) -> Line | None:
    """A line to a hub that runs; for this none is started."""
    try:
        where = binding.under(env, here.outer.common_dir) if here else env
        return starter.connect_running(where, deadline=time.monotonic() + HOOK_DEADLINE_SECONDS)
    except HubUnreachable:
        return None


def _claims(line: Line, filters: str) -> Iterator[dict[str, Any]]:
    """All pages; ``seen``: when, by the hub's clock; ``ahead``: how many seconds the wall clock is ahead of that."""
    after: str | None = ""
    while after is not None:
        answer = line.ask("GET", f"/v2/claims?limit={_PAGE}{filters}{after and f'&after={quote(after)}'}")
        if answer.status != 200:
            return
        page = document.read(answer.body)
        for claim in page["claims"]:
            yield claim | {"ahead": time.time() - page["now"], "seen": page["now"]}
        after = page["next"]
