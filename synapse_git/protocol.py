"""The wire: what each route takes and gives, and how bodies become values. Validated here, once.

A path travels as text, or as ``{"b64": …}`` where its bytes are not UTF-8. Times are Unix seconds of the hub.
Headers: ``Synapse-Protocol`` (version), ``Idempotency-Key``, ``Synapse-Session``; for streamed paths also
``Synapse-Agent``, ``Synapse-Namespace``, ``Synapse-Worktree`` (percent-encoded), ``Synapse-Action``,
``Synapse-Unclaimed``. ``Synapse-Query`` on the guard asks without extending or recording anything, ``Synapse-Claim``
claims what is free, ``Synapse-Moved`` records what has happened already. Any request may name its agent in
``Synapse-Agent``.
"""

from __future__ import annotations

import binascii
import json
import math
from collections.abc import Iterable
from typing import Any, Literal, TypeVar

import msgspec

from synapse_git import scope
from synapse_git.constants import MAX_BODY_BYTES, MAX_JSON_DEPTH
from synapse_git.errors import InvalidScope

PATHS_TYPE = "application/x-synapse-paths"
PROBLEM_TYPE = "application/problem+json"

Action = Literal["edit", "commit", "merge", "push", "ref"]
WirePath = str | dict[str, str]
UncheckedNumber = Any  # a number that falls back to a default instead of failing (Spec: INV-LL-3)


class Malformed(ValueError):
    """A body that is not what the route takes; the text says where."""


class TooDeep(Malformed):
    """Nesting over `MAX_JSON_DEPTH`."""


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all requests."""


class ClaimBody(Body, frozen=True):
    """``paths`` absent keeps a held task's scope, ``[]`` is the whole tree; ``add`` unites instead of replacing.

    ``ttl_s`` absent keeps a held task's length. ``epoch`` makes it a renewal of that very lease and nothing else.
    """

    task_id: str
    agent: str
    namespace: str = ""
    worktree: str | None = None
    paths: list[WirePath] | None = None
    ttl_s: UncheckedNumber = msgspec.UNSET
    epoch: int | None = None
    add: bool = False
    wait_s: UncheckedNumber = None
    note: str | None = None


class TaskBody(Body, frozen=True):
    """Base of requests about a claim that is held; ``epoch`` fences them (Spec: INV-EF-2)."""

    task_id: str
    agent: str
    namespace: str = ""
    epoch: int | None = None


class ReleaseBody(TaskBody, frozen=True):
    """``force`` takes the claim from whoever holds it and needs ``reason_text``."""

    force: bool = False
    reason_text: str = ""


class UpdateBody(TaskBody, frozen=True):
    expected_version: int | None = None
    status: str | None = None
    note: str | None = None


class HandoffBody(TaskBody, frozen=True, kw_only=True):
    to: str


class CheckpointBody(TaskBody, frozen=True, kw_only=True):
    data: Any


class HeartbeatBody(Body, frozen=True):
    agent: str


class GuardPolicy(Body, frozen=True):
    """What to say of paths that no claim of the agent covers."""

    unclaimed: Literal["allow", "warn", "refuse"] = "allow"


class GuardBody(Body, frozen=True, kw_only=True):
    """``claim``: of an edit that is allowed, claim what nobody covers yet."""

    agent: str
    namespace: str = ""
    worktree: str = ""
    paths: list[WirePath]
    action: Action = "edit"
    policy: GuardPolicy = GuardPolicy()
    claim: bool = False


class OverrideBody(Body, frozen=True, kw_only=True):
    """A change that went in although others held it, or although no hub could be asked (``spooled_at``)."""

    agent: str
    namespace: str = ""
    worktree: str = ""
    paths: list[WirePath]
    action: Action = "commit"
    reason_text: str
    spooled_at: UncheckedNumber = None


class MessageBody(Body, frozen=True, kw_only=True):
    """``to`` absent: to everyone. ``client_timestamp``: the sender's word, dropped where it is no finite number."""

    agent: str
    to: str | None = None
    body: str
    client_msg_id: str | None = None
    client_timestamp: UncheckedNumber = None


class AckBody(Body, frozen=True, kw_only=True):
    """``seq``: the number of the newest message that ``agent`` has."""

    agent: str
    seq: int


class WrittenFile(Body, frozen=True, kw_only=True):
    """A file as an edit left it; ``sha256`` in hex, null where the edit took it away."""

    path: WirePath
    sha256: str | None


class EditsBody(Body, frozen=True, kw_only=True):
    """What an agent's own tool has just written. ``git``: Git has just written here for the agent."""

    agent: str
    namespace: str = ""
    worktree: str = ""
    edits: list[WrittenFile]
    git: bool = False


class SeenFile(Body, frozen=True, kw_only=True):
    """A file that a watcher found changed ``age_s`` seconds ago.

    ``sha256`` as in `WrittenFile`; absent where nobody has looked yet, or where what stands there has no content.
    ``git``: what stands there is what Git has of it.
    """

    path: WirePath
    sha256: str | msgspec.UnsetType | None = msgspec.UNSET
    age_s: UncheckedNumber = 0.0
    git: bool = False


class WatchedBody(Body, frozen=True, kw_only=True):
    """``settled``: whoever wrote has had the time to say so; what nobody owned up to goes on record as well."""

    namespace: str = ""
    worktree: str
    changes: list[SeenFile]
    settled: bool = False


class ForeignEditBody(Body, frozen=True, kw_only=True):
    """A watcher of the hub that asks found changes in scopes that the asked one grants; ``agent`` '' is unknown."""

    agent: str = ""
    namespace: str
    worktree: str
    paths: list[WirePath]
    paths_total: int
    tasks: list[str]


class QuarantinedBody(Body, frozen=True, kw_only=True):
    """A watcher has put a holder's content back; what ``agent`` wrote is kept as ``quarantine``."""

    agent: str
    namespace: str = ""
    worktree: str
    task_id: str
    path: WirePath
    quarantine: str


class WatcherBody(Body, frozen=True, kw_only=True):
    """How a worktree is watched: not ``live`` for a ``reason``; ``foreground``, if by somebody's own command."""

    worktree: str
    state: Literal["live", "degraded", "off"]
    reason: str = ""
    foreground: bool = False


class NoteBody(Body, frozen=True, kw_only=True):
    """``task_id`` absent: about no task."""

    agent: str
    text: str
    namespace: str = ""
    task_id: str = ""


class ResourceBody(Body, frozen=True, kw_only=True):
    agent: str
    name: str
    namespace: str = ""
    note: str = ""
    ttl_s: UncheckedNumber = None


class WithdrawBody(Body, frozen=True, kw_only=True):
    agent: str
    name: str
    namespace: str = ""


class TeamInitBody(Body, frozen=True, kw_only=True):
    """``listen``: ``HOST:PORT`` for peers; ``name``: what this hub is called among them; '' leaves either as it is."""

    namespace: str
    listen: str = ""
    remotes: list[str] = []
    exclusion: Literal["", "repository", "worktree"] = ""
    name: str = ""


class LocalRepository(Body, frozen=True, kw_only=True):
    """A repository that no team shares yet: the ``local:`` namespace its claims are in, the URLs of its remotes."""

    namespace: str
    remotes: list[str]


class TeamJoinBody(Body, frozen=True, kw_only=True):
    """``repositories``: those of this machine with claims in them; ``convert``: have the owner take these over."""

    url: str
    token: str
    listen: str = ""
    name: str = ""
    repositories: list[LocalRepository] = []
    convert: bool = False


class TeamAdmitBody(Body, frozen=True, kw_only=True):
    """A hub that asks to be let in; ``url`` and ``certificate`` are '' where it takes no requests.

    ``look``: it only wants to know into what, and the secret is not used up.
    """

    secret: str
    id: str
    key: str
    url: str = ""
    certificate: str = ""
    look: bool = False


class TeamTransferBody(Body, frozen=True, kw_only=True):
    """``to``: the hub that is to own it; ``from_dead``: this one, and the owner so far is gone for good."""

    namespace: str
    to: str
    from_dead: bool = False


class TeamRemoveBody(Body, frozen=True, kw_only=True):
    namespace: str
    hub: str


class TeamLeaveBody(Body, frozen=True, kw_only=True):
    namespace: str


class WorktreeBody(Body, frozen=True, kw_only=True):
    worktree: str
    root: WirePath
    repository: str = ""
    namespace: str = ""
    branch: str = ""
    agent: str = ""
    layers: list[str] = []


class ReclaimBody(Body, frozen=True):
    agent: str


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """Base of what a session sends over its WebSocket."""


class RegisterFrame(Frame, frozen=True, kw_only=True, tag="register"):
    """The first: which name, and the ``secret`` of an earlier ``welcome``; ``key``: base64 of an Ed25519 public key."""

    agent: str
    secret: str | None = None
    key: str | None = None
    since_seq: int | None = None


class ProveFrame(Frame, frozen=True, tag="prove"):
    """The answer to a ``challenge``: base64 of the signature over `proof_statement`."""

    signature: str


class PresenceFrame(Frame, frozen=True, tag="presence"):
    """Asks who else has a session."""


class ReleaseFrame(Frame, frozen=True, tag="release"):
    """Gives the name up: it does not wait for the session to come back."""


class ChatFrame(Frame, frozen=True, tag="chat"):
    """As `MessageBody`, of the session's agent."""

    body: str
    to: str | None = None
    client_msg_id: str | None = None
    client_timestamp: UncheckedNumber = None


class AckFrame(Frame, frozen=True, tag="ack"):
    seq: int


AnyFrame = RegisterFrame | ProveFrame | ChatFrame | AckFrame | PresenceFrame | ReleaseFrame

T = TypeVar("T")


def parse(raw: bytes | bytearray, kind: type[T]) -> T:
    """``raw`` as a request of ``kind``.

    Raises:
        Malformed: not JSON, not an object, an unknown or ill-typed field.
        TooDeep: nested deeper than `MAX_JSON_DEPTH`.
    """
    _check_depth(raw)
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_leniently(raw, kind)


def parse_frame(text: str) -> AnyFrame:
    """What a session sent. Raises: Malformed."""
    return parse(text.encode(), AnyFrame)  # type: ignore[arg-type]  # a union is no type to mypy


def proof_statement(hub_id: str, agent: str, nonce: str) -> bytes:
    """What a session signs to prove that it has the key it registers with."""
    return "\n".join(("synapse-git session", hub_id, agent, nonce)).encode()


def _parse_leniently(raw: bytes | bytearray, kind: type[T]) -> T:
    """The fast parser refuses NaN, Infinity and 1e999, which a ``ttl_s`` may be (Spec: INV-LL-3)."""
    try:
        document = json.loads(raw)
        # It lets lone surrogates through, which no later writer of this document could put down.
        json.dumps(document, ensure_ascii=False).encode()
        return msgspec.convert(document, kind)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise Malformed(str(error)) from None


def _check_depth(raw: bytes | bytearray) -> None:
    if raw.count(b"[") + raw.count(b"{") <= MAX_JSON_DEPTH:
        return
    depth, quoted, escaped = 0, False, False
    for byte in raw[:MAX_BODY_BYTES]:
        if quoted:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                quoted = False
        elif byte == 0x22:
            quoted = True
        elif byte in b"[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise TooDeep(f"nested deeper than {MAX_JSON_DEPTH}")
        elif byte in b"]}":
            depth -= 1


def finite(value: object, default: float) -> float:
    """``value`` as a finite number, else ``default``: text, booleans, null, NaN and infinities are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        number = float(value)
    except OverflowError:
        return default
    return number if math.isfinite(number) else default


def from_wire(path: WirePath) -> str:
    """A path of a document, as text with surrogates (PEP 383).

    Raises:
        InvalidScope: neither text nor a well-formed ``{"b64": …}``.
    """
    if isinstance(path, str):
        # A lone surrogate cannot come out of the parser; a NUL can and is caught where paths are normalised.
        return path
    if set(path) != {"b64"}:
        raise InvalidScope('a path is text, or {"b64": …} where its bytes are not UTF-8')
    try:
        return scope.from_bytes(binascii.a2b_base64(path["b64"], strict_mode=True))
    except ValueError as error:
        raise InvalidScope(f"b64: {error}") from None


def to_wire(path: str) -> WirePath:
    """The inverse of `from_wire`."""
    return scope.to_wire(path)


def paths_to_wire(paths: Iterable[str]) -> list[WirePath]:
    return [to_wire(path) for path in paths]
