"""A refusal in words: what, who holds it and until when, and the next command to type.

Derived from the problem document's data; nothing ever parses it. Stdlib only: hooks use it.
"""

from __future__ import annotations

import time

from synapse_git import scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


# What is to be known of a hub in no team. Spec: INV-MH-4.
ALONE = "excludes nothing on other machines"

# How much of another's words a refusal repeats, in characters; `show` has them all.
_REPEATED = 200
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/+=:,@%")


def problem(document: Mapping[str, Any]) -> str:
    """``REASON: detail`` and a line for each conflict, then the way out."""
    conflicts = document.get("conflicts") or []
    # Leases run on a clock of their own; people read the wall's.
    ahead = time.time() - document["now"] if "now" in document else 0.0
    lines = [f"{document.get('reason', '')}: {said(document.get('detail', ''), most=None)}".rstrip(": ")]
    lines += ["  " + conflict(item, ahead) for item in conflicts]
    if fix := document.get("fix"):
        lines.append(said(fix, most=None))
    return "\n".join(lines)


def relocation(answer: Mapping[str, Any], namespace: str) -> str:
    """What became of claims in a checkout that belongs to ``namespace`` by now, as its registration told, or ''."""
    if moved := answer.get("moved"):
        return f"what was held here goes on in {said(namespace)}: {', '.join(map(said, moved))}"
    if stayed := answer.get("stayed"):
        return (
            f"what is held here stays in the project it was taken in, unknown to others of {said(namespace)}: "
            f"{', '.join(map(said, stayed))}. {said(answer.get('why', ''), most=None)}"
        )
    return ""


def said(text: object, *, most: int | None = _REPEATED) -> str:
    """What somebody else wrote, on one line and without anything that a terminal would obey; cut after ``most``.

    Whatever others can write into comes through here before it is shown: a note must not look like our own words.
    """
    words = str(text)
    cut = "…" if most is not None and len(words) > most else ""
    return (scope.show(words[:most]) if words else "") + cut


def shell(word: str) -> str:
    """``word`` as a shell takes it for one word; what cannot be shown is spelled out, as today's shells read it."""
    if word and _SAFE.issuperset(word):
        return word
    if word.isprintable():
        return "'" + word.replace("'", "'\\''") + "'"
    spelled = (
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\{byte:03o}" for byte in scope.to_bytes(word)
    )
    return f"$'{''.join(spelled)}'"


def conflict(item: Mapping[str, Any], ahead: float = 0.0) -> str:
    """``src/b.py is held by ana (task login) until 14:05: "note"``; ``src/b.py, in src, is …`` where src was asked.

    ``ahead``: how many seconds the wall clock is ahead of the hub's.
    """
    held = [wire_path(path) for path in item.get("paths") or []] or [scope.ROOT]
    changed = [_named(wire_path(path), held) for path in item.get("changed") or item.get("paths") or []] or ["."]
    total = item.get("changed_total") or len(changed)
    more = f" and {total - len(changed)} more" if total > len(changed) else ""
    verb = "are" if total > 1 else "is"
    note = f': "{said(item["note"])}"' if item.get("note") else ""
    until = moment(item.get("lease_expires_at", 0.0) + ahead)
    quiet = f", and has shown nothing for {span(item['quiet_s'])}" if item.get("quiet_s") else ""
    task = f"task {said(item['task_id'])}" + (", which holds everything" if held == [scope.ROOT] else "")
    return f"{', '.join(changed)}{more} {verb} held by {said(item['owner'])} ({task}) until {until}{quiet}{note}"


def takeovers(document: Mapping[str, Any], env: Mapping[str, str]) -> list[str]:
    """`takeover` of each claim in the way whose holder has shown nothing for a while, where a person reads it."""
    quiet = [item for item in document.get("conflicts") or [] if item.get("quiet_s")]
    if not quiet:
        return []
    from synapse_git import identity

    return [] if identity.by_agent(env) else list(map(takeover, quiet))


def takeover(item: Mapping[str, Any]) -> str:
    """What a person, and no agent, may type about the claim of a holder that may be gone."""
    gone, task = said(item["owner"]), shell(str(item["task_id"]))
    return f"If {gone} is gone for good, take it away, on record:  synapse-git release -t {task} --force --reason WHY"


def _named(path: str, held: list[str]) -> str:
    """``path`` if all of it is held, else what in it is."""
    if any(scope.covers(one, path) for one in held):
        return scope.show(path)
    inside = next((one for one in held if scope.covers(path, one)), None)
    return f"{scope.show(inside)}, in {scope.show(path)}," if inside else scope.show(path)


def wire_path(path: Any) -> str:
    """A path of a JSON document: text, or ``{"b64": …}`` where it is not UTF-8."""
    if isinstance(path, str):
        return path
    import binascii

    return scope.from_bytes(binascii.a2b_base64(path["b64"]))


def moment(instant: float) -> str:
    """Local time of day, with the date when it is not today."""
    now, then = time.localtime(), time.localtime(instant)
    return time.strftime("%H:%M:%S" if now[:3] == then[:3] else "%Y-%m-%d %H:%M", then)


def span(seconds: float) -> str:
    """``90 s``, ``12 min``, ``3 h``, ``5 d``."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
