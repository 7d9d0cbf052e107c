"""What hooks let through by an override while the program was gone: they wrote it down, here it is put on record."""

from __future__ import annotations

import ast
import calendar
import os
import time
from contextlib import suppress

from synapse_git import checkout, client, content, identity, scope
from synapse_git.cli import submodules, worktrees
from synapse_git.errors import CheckoutError
from synapse_git.record import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

_NAME = "unchecked"
_MOST_BYTES = 4 * 1024 * 1024
_ACTIONS = {"pre-merge-commit": "merge", "reference-transaction": "ref", "update": "ref", "pre-push": "push"}


class Unchecked:
    """The ``lines`` in the file at ``path``, which hooks that ran in ``place`` have written."""

    __slots__ = ("lines", "path", "place")

    def __init__(self, place: Checkout) -> None:
        self.place = place
        self.path = f"{place.git_dir}/{FOLDER}/{_NAME}"
        self.lines: list[bytes] = []
        with suppress(OSError):
            self.lines = content.read(self.path, _MOST_BYTES).splitlines()

    def put_on_record(self, call: Call) -> str:
        """Tell the hub of each, once however often this is begun; where the file is kept then. Raises as `client`."""
        kept = f"{self.path}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}"
        self._tell(call, 0)
        os.rename(self.path, kept)
        told, self.path = len(self.lines), kept
        self.lines = content.read(kept, _MOST_BYTES).splitlines()
        self._tell(call, told)  # what a hook has written meanwhile
        return kept

    def _tell(self, call: Call, first: int) -> None:
        noted_at = os.stat(self.path).st_mtime
        for number, line in enumerate(self.lines[first:], first):
            body = _override(self.place, line.decode("utf-8", "replace"), noted_at)
            body["agent"] = body["agent"] or identity.who(None, {}, self.place.outer.git_dir)
            place = f"{self.place.git_dir} {number} ".encode("utf-8", "surrogateescape")
            client.command(call.hub, "/v2/overrides", body, key=f"{_NAME}-{identity.sha256(place + line)[:40]}")


def waiting(call: Call, here: Checkout) -> Iterator[Unchecked]:
    """What is not on record yet, of every worktree of the repository and the submodules in them."""
    roots = dict.fromkeys([here.root, *worktrees.roots(here.root, call.env)])
    for root in [*roots, *submodules.roots(roots, call.env)]:
        with suppress(CheckoutError):  # a broken one is told of elsewhere
            found = Unchecked(checkout.find(root, call.env))
            if found.lines:
                yield found


def settle(call: Call, here: Checkout) -> Iterator[str]:
    """Put on record what waits; what was done, file by file. Raises as `Unchecked.put_on_record`."""
    for found in waiting(call, here):
        kept = found.put_on_record(call)
        shown = f"({len(found.lines)}), as `synapse-git log` shows"
        yield f"what was let through unchecked is on record now {shown}. Kept: {scope.show(kept)}"


def _override(place: Checkout, line: str, noted_at: float) -> dict[str, Any]:
    """The request that ``line`` comes to; of one that an older hook wrote, what can be told."""
    fields = line.split("\t")
    if len(fields) < 7:
        hook, _, reason = line.partition(" ")
        fields = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(noted_at)), hook, "", "", "", reason]
    at, hook, branch, head, agent, reason, *paths = fields
    with suppress(ValueError):
        noted_at = calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%SZ"))
    after = f" (on {branch or 'no branch'}, after {head[:12]})" if head else ""
    return {
        "agent": agent,
        "namespace": place.namespace(create=True),
        "worktree": place.tree(create=True),
        "paths": [scope.to_wire(place.spell(_unquoted(path))) for path in paths if path],
        "action": _ACTIONS.get(hook, "commit"),
        "reason_text": f"{reason.strip() or 'no reason'}{after}",
        "spooled_at": noted_at,
    }


def _unquoted(path: str) -> str:
    """What Git puts between quotation marks is spelled as Python spells bytes."""
    if not path.startswith('"'):
        return path
    with suppress(ValueError, SyntaxError):
        return scope.from_bytes(ast.literal_eval(f"b{path}"))
    return path
