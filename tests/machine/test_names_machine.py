"""Names against a model that is one dictionary: never two holders, never without the secret, over restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from synapse_git.constants import DEFAULT_LEASE_OFFLINE_TTL
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.names import BindName, EndSessions, ReclaimName, ReleaseName
from synapse_hub.core.commands.talk import SendMessage
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.journal.snapshot import capture, restore
from tests.machine.core import CoreMachine

NAMES = st.sampled_from(["ana", "ben"])
SECRETS = st.sampled_from(["s1", "s2"])
USERS = st.sampled_from(["uid:1", "uid:2"])
KEYS = st.sampled_from(["", "k1", "k2"])


@dataclass
class Owner:
    """``gone``: when its session disconnected, None while it is there."""

    secret: str
    user: str
    gone: float | None = None


class NamesMachine(CoreMachine):
    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[str, Owner] = {}
        # name → key and the user who pinned it.
        self.pins: dict[str, tuple[str, str]] = {}

    def owner(self, name: str) -> Owner | None:
        found = self.owners.get(name)
        over = found is None or (found.gone is not None and self.now >= found.gone + DEFAULT_LEASE_OFFLINE_TTL)
        return None if over else found

    def reason(self, command: AnyCommand) -> str:
        outcome = self.do(command)
        return outcome.reason if isinstance(outcome, Refusal) else ""

    @rule(name=NAMES, secret=SECRETS, user=USERS, key=KEYS)
    def register(self, name: str, secret: str, user: str, key: str) -> None:
        """A free name, or one's own; with the pinned key where there is one."""
        owner, pin = self.owner(name), self.pins.get(name)
        expected = ""
        if owner and (owner.secret, owner.user) != (secret, user):
            expected = "NAME_OWNED"
        elif pin and pin[0] != key:
            expected = "NOT_AUTHORISED"
        assert self.reason(BindName(agent=name, principal=user, secret_sha256=secret, key=key)) == expected
        if not expected:
            self.owners[name] = Owner(secret, user)
            if key:
                self.pins.setdefault(name, (key, user))

    @rule(name=NAMES, secret=SECRETS)
    def disconnect(self, name: str, secret: str) -> None:
        """Only the session that has it; a second end of it moves nothing."""
        owner = self.owner(name)
        was = owner is not None and owner.secret == secret and owner.gone is None
        assert len(self.do(EndSessions(sessions=((name, secret), (name, secret)))).events) == was
        if was and owner:
            owner.gone = self.now

    @rule(name=NAMES, secret=SECRETS)
    def give_up(self, name: str, secret: str) -> None:
        """By its session, connected or not: free at once."""
        owner = self.owner(name)
        expected = "NAME_OWNED" if owner and owner.secret != secret else ""
        assert self.reason(ReleaseName(agent=name, session=secret)) == expected
        if not expected:
            self.owners.pop(name, None)

    @rule(name=NAMES, user=USERS)
    def reclaim(self, name: str, user: str) -> None:
        """By the user of the session or of the key; both are forgotten."""
        owner, pin = self.owner(name), self.pins.get(name)
        users = {one for one in (owner and owner.user, pin and pin[1]) if one}
        expected = "NOT_HELD" if not users else "" if user in users else "NOT_AUTHORISED"
        assert self.reason(ReclaimName(agent=name, principal=user)) == expected
        if not expected:
            self.owners.pop(name, None)
            self.pins.pop(name, None)

    @rule(name=NAMES, secret=st.sampled_from(["", "s1", "s2"]))
    def act(self, name: str, secret: str) -> None:
        """Whoever has the secret, or anybody where nobody owns the name."""
        owner = self.owner(name)
        expected = "NAME_OWNED" if owner and owner.secret != secret else ""
        assert self.reason(SendMessage(agent=name, session=secret, to=None, body="x")) == expected

    @rule(seconds=st.sampled_from([1.0, DEFAULT_LEASE_OFFLINE_TTL - 1.0, DEFAULT_LEASE_OFFLINE_TTL]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule(snapshot=st.booleans())
    def restart(self, snapshot: bool) -> None:
        """INV-RR-1: the rows alone, or a snapshot, tell the same; then whoever was connected is not."""
        rows = (row.event() for row in self.rows)
        again = restore(capture(self.state, b"")) if snapshot else apply_all(State(), rows)
        assert again.names.live == self.state.names.live
        self.state = again
        live: tuple[Any, ...] = tuple((name, bound.secret_sha256) for name, bound in again.names.live.items())
        self.do(EndSessions(sessions=live))
        for owner in self.owners.values():
            owner.gone = self.now if owner.gone is None else owner.gone

    @invariant()
    def each_name_has_the_holder_of_the_model(self) -> None:
        """That one, or nobody."""
        for name in ("ana", "ben"):
            found, owner = self.state.names.owner(name, self.now), self.owner(name)
            held = found and (found.secret_sha256, found.principal)
            assert held == (owner and (owner.secret, owner.user))
            assert (name in self.state.names.live) is (owner is not None and owner.gone is None)
            assert self.state.names.key(name) == self.pins.get(name, ("", ""))[0]


TestNames = NamesMachine.TestCase
TestNames.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
