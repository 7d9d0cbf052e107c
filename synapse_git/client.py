"""What the command line sends to the hub, and what comes back.

Starts the hub where none runs. A refusal arrives as `Refused`, a hub that cannot answer as `HubUnreachable`.
Imports only what the quickest command needs.
"""

from __future__ import annotations

import os
import sys
import time

from synapse_git import __version__, address, document, identity, starter
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import REASONS, HubUnreachable, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from synapse_git.exchange import Answer, Line

# A hub may be killed, or an older one make way for another older one, while somebody asks; not for ever.
_ATTEMPTS = 4
_JSON = ("Content-Type", "application/json")
# A hub that runs answers a question at once, or hangs. What is to be done may have to wait for the disk.
_QUERY_DEADLINE_S = 5.0
# Nobody is about to change anything.
_QUERY = ("Synapse-Query", "1")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")


class Asker:
    """On whose behalf this process asks, and how many messages wait for that agent by the hub's last word.

    One for the process, as a process is one command of one agent.
    """

    __slots__ = ("agent", "pending")

    def __init__(self) -> None:
        self.agent = ""
        self.pending = 0

    def headers(self) -> list[tuple[str, str]]:
        return [("Synapse-Agent", quote(self.agent))] if self.agent else []

    def hear(self, answer: Answer) -> None:
        """Take note of what an answer says beside its document."""
        self.pending = int(answer.headers.get("synapse-pending", "0"))


ASKER = Asker()


class Reply:
    """A success: ``raw`` is the hub's document as it came, ``headers`` have lower-case names."""

    __slots__ = ("_document", "headers", "raw")

    def __init__(self, answer: Answer) -> None:
        self.raw = answer.body
        self.headers = answer.headers
        self._document: Any = None

    @property
    def document(self) -> dict[str, Any]:
        if self._document is None:
            self._document = document.read(self.raw)
        found: dict[str, Any] = self._document
        return found


def command(
    env: Mapping[str, str], target: str, body: Mapping[str, object], *, patience_s: float = 0.0, key: str = ""
) -> Reply:
    """Have something done: ``POST target``, applied at most once however often it has to be sent.

    ``patience_s``: how much longer than usual the answer may take; with it a broken connection is the caller's affair.
    ``key``: what it goes by where another process may have sent it before, '' for one of its own.

    Raises:
        Refused: the hub said no.
        HubUnreachable: no answer; whether it was done can then be asked for.
    Spec: INV-CR-1
    """
    headers = [_JSON, ("Idempotency-Key", key or os.urandom(16).hex())]
    return settle(_ask(env, "POST", target, headers, document.write(body).encode(), patience_s), env)


def query(env: Mapping[str, str], target: str, **filters: str) -> Reply:
    """``GET target``; filters that are '' are left out. Raises as `command` does."""
    return settle(_ask(env, "GET", _with(target, filters), (), b""), env)


def judge(
    env: Mapping[str, str], agent: str, namespace: str, tree: str, paths: Iterable[str], *, unclaimed: str = "allow"
) -> Reply:
    """The verdict on an edit of ``paths`` that nobody has made yet: nothing is recorded. Raises as `command` does.

    ``unclaimed``: the policy on what no claim of the agent covers.
    """
    from synapse_git import scope

    headers = [
        ("Content-Type", "application/x-synapse-paths"),
        *([("Synapse-Agent", quote(agent))] if agent != ASKER.agent else []),
        ("Synapse-Namespace", quote(namespace)),
        ("Synapse-Worktree", quote(tree)),
        ("Synapse-Action", "edit"),
        ("Synapse-Unclaimed", unclaimed),
        _QUERY,
    ]
    body = b"\0".join(scope.to_bytes(path) for path in paths)
    return settle(_ask(env, "POST", "/v2/guard", headers, body), env)


def claims(env: Mapping[str, str], **filters: str) -> list[dict[str, Any]]:
    """All live claims that match ``namespace, worktree, agent, task_id`` ('' matches everything), all pages."""
    return _pages(env, "/v2/claims", **filters)


def observed(env: Mapping[str, str], peer: str) -> list[dict[str, Any]]:
    """What the hub called ``peer`` told that is held in its namespaces, all pages."""
    return _pages(env, "/v2/observed", peer=peer, limit="1000")


def _pages(env: Mapping[str, str], target: str, **filters: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = query(env, target, after=after, **filters).document
        found += page["claims"]
        after = page.get("next") or ""
        if not after:
            return found


def events(env: Mapping[str, str], after: str, *, follow: bool) -> Iterator[tuple[str, str, str]]:
    """The journal as (id, kind, JSON text), from the event after ``after``; ``follow`` goes on for ever.

    Raises:
        HubUnreachable: the hub went away.
    """
    target = _with("/v2/events", {"after": after, "follow": "" if follow else "false"})
    with _connect(env, time.monotonic() + CLIENT_DEADLINE_SECONDS) as line:
        rest = b""
        for chunk in line.stream(target):
            *blocks, rest = (rest + chunk).split(b"\n\n")
            for block in blocks:
                fields = _fields(block)
                if "data" in fields:
                    yield fields.get("id", ""), fields.get("event", ""), fields["data"]


def health(line: Line) -> Answer:
    """The state of the hub at the other end of ``line``: 200, or a problem document where it cannot grant."""
    return line.ask("GET", "/v2/health")


def quote(text: str) -> str:
    """Percent-encoded UTF-8, safe in headers and targets."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def _fields(block: bytes) -> dict[str, str]:
    """One server-sent event; lines of ``data`` belong together."""
    fields: dict[str, str] = {}
    for line in block.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ").removesuffix("\r")
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


def _with(target: str, filters: Mapping[str, str]) -> str:
    given = "&".join(f"{name}={quote(value)}" for name, value in filters.items() if value)
    return f"{target}?{given}" if given else target


def _connect(env: Mapping[str, str], deadline: float) -> Line:
    start_deadline = max(deadline, time.monotonic() + CLIENT_DEADLINE_SECONDS)
    return starter.connect(env, deadline=deadline, start_deadline=start_deadline)


def _ask(
    env: Mapping[str, str],
    method: str,
    target: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    patience_s: float = 0.0,
) -> Answer:
    """Ask, and again if the connection broke (a hub that was killed is started again, and knows the key) or if an
    older hub answered, which may not know what is asked of it. What that one did is done.
    """
    answer = _exchange(env, method, target, [*ASKER.headers(), *identity.proof(env), *headers], body, patience_s)
    ASKER.hear(answer)
    return answer


def _exchange(
    env: Mapping[str, str],
    method: str,
    target: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    patience_s: float,
) -> Answer:
    acts = method == "POST" and _QUERY not in headers
    wait_s = (CLIENT_DEADLINE_SECONDS if acts else _QUERY_DEADLINE_S) + patience_s
    deadline = time.monotonic() + wait_s
    attempts, broken = _ATTEMPTS, False
    while True:
        attempts -= 1
        try:
            line = _connect(env, deadline)
        except HubUnreachable as error:
            if not broken:
                raise
            raise _unsure(error, acts) from error
        with line:
            try:
                answer = line.ask(method, target, headers, body)
            except HubUnreachable as error:
                broken = True
                if patience_s or not attempts or time.monotonic() >= deadline:
                    raise _unsure(error, acts) from error
                continue
            if not _retired(env, line, answer) or (method == "POST" and answer.status == 200) or not attempts:
                return answer
        deadline = time.monotonic() + wait_s


def _unsure(error: HubUnreachable, acts: bool) -> HubUnreachable:
    """Nobody can tell what became of what was sent."""
    after = " It may have been done all the same: synapse-git status tells." if acts else ""
    return HubUnreachable(f"{error}.{after} If the hub hangs: synapse-git hub stop")


def _retired(env: Mapping[str, str], line: Line, answer: Answer) -> bool:
    """Was the ``answer`` an older hub's, and its last one? All it acknowledged is in its journal, from which this
    version's hub goes on.
    """
    running = answer.headers.get("synapse-hub-version", __version__)
    if running == __version__:
        return False
    from synapse_git import ending

    if not ending.retire(env, running, line.server_pid()):
        return False
    if sys.stderr is not None:
        sys.stderr.write(f"synapse-git: the hub ran version {running} and makes way for {__version__}\n")
    return True


def settle(answer: Answer, env: Mapping[str, str]) -> Reply:
    """The answer as a success, else as the error that it is."""
    if answer.status == 200:
        return Reply(answer)
    try:
        problem = document.read(answer.body)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and problem.get("reason") in REASONS:
        raise Refused(problem)
    detail = problem.get("detail", "") if isinstance(problem, dict) else ""
    log = starter.log_file(address.state_dir(env))
    raise HubUnreachable(f"the hub answered {answer.status}{detail and f' ({detail})'}; its log: {log}")
