"""Messages, notices, notes and offers against the shadow model, under small bounds, over restarts and snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from synapse_git.constants import HUB_AGENT
from synapse_hub.core import board, mail, messages
from synapse_hub.core.commands.claims import TakeClaim
from synapse_hub.core.commands.guard import RecordDenial
from synapse_hub.core.commands.talk import Acknowledge, AddNote, OfferResource, SendMessage, WithdrawResource
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.journal.snapshot import capture, restore
from tests.machine.core import CoreMachine
from tests.machine.shadow import Talk

AGENTS = st.sampled_from(["ana", "ben", "cyd"])
TEXTS = st.sampled_from(["x", "y"])
TASKS = st.sampled_from(["", "t1", "t2"])
# Beyond what counts, so that an acknowledgement from the future is tried as well.
BACK = st.integers(-3, 12)
BOUNDS = {
    (mail, "MAX_RETAINED_CHAT"): 4,
    (mail, "MAX_MAILBOX_LETTERS"): 3,
    (mail, "MAX_LETTERS"): 5,
    (mail, "MAX_MAILBOX_NOTICES"): 2,
    (board, "MAX_TASK_NOTES"): 2,
    (board, "MAX_AGENT_NOTES"): 3,
    (board, "MAX_NOTES"): 4,
    (board, "MAX_RESOURCES"): 2,
}


class TalkMachine(CoreMachine):
    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for (module, name), most in BOUNDS.items():
            self.patch.setattr(module, name, most)
            if hasattr(messages, name):
                self.patch.setattr(messages, name, most)
        self.talk = Talk((4, 3, 5, 2, 2, 3, 4, 2), HUB_AGENT)
        self.tries = 0
        self.seen: dict[str, int] = {}
        claim = TakeClaim(
            agent="ana", principal="uid:1", namespace="", task_id="held", worktree="wt:1", paths=("src",), ttl_s=1e9
        )
        self.do(claim)

    @rule(sender=AGENTS, to=st.none() | AGENTS, body=TEXTS, reached=st.booleans())
    def send(self, sender: str, to: str | None, body: str, reached: bool) -> None:
        """INV-DG-1, INV-DG-3: taken if and only if the model takes it, present or not, however often."""
        expected = self.talk.send(self.state.seq + 1, self.now, sender, to, body)
        outcome = self.do(SendMessage(agent=sender, to=to, body=body, reached=reached))
        assert (outcome.reason if isinstance(outcome, Refusal) else "") == expected
        if not isinstance(outcome, Refusal):
            assert outcome.answer == {"timestamp": self.now, "delivered": reached}

    @rule(agent=AGENTS, back=BACK)
    def acknowledge(self, agent: str, back: int) -> None:
        """INV-DG-3: up to what there is, never lower; an acknowledgement that raises nothing is no event."""
        seq, before = max(self.state.seq - back, 0), self.state.mail.watermark(agent)
        watermark = self.talk.acknowledge(agent, seq, self.state.seq)
        outcome = self.do(Acknowledge(agent=agent, seq=seq))
        assert not isinstance(outcome, Refusal)
        assert outcome.answer == {"watermark": watermark, "pending": len(self.talk.waiting(agent, self.now))}
        assert bool(outcome.events) is (watermark > before)

    @rule(agent=st.sampled_from(["ben", "cyd"]))
    def deny(self, agent: str) -> None:
        """A loop under ever new paths is on record each time, and told once in a while."""
        self.tries += 1
        told = self.talk.notify(self.state.seq + 2, self.now, "ana", agent)
        denial = RecordDenial(
            agent=agent, namespace="", worktree="wt:1", action="edit", paths=(f"src/{self.tries}",), paths_total=1,
            tasks=(("", "held"),),
        )  # fmt: skip
        assert len(self.do(denial).events) == 1 + told

    @rule(agent=AGENTS, task=TASKS, text=TEXTS)
    def note(self, agent: str, task: str, text: str) -> None:
        """The newest stay."""
        self.talk.note(self.now, agent, task, text)
        self.do(AddNote(agent=agent, namespace="", task_id=task, text=text))

    @rule(agent=AGENTS, name=TEXTS, ttl=st.sampled_from([30.0, 300.0]))
    def offer(self, agent: str, name: str, ttl: float) -> None:
        """Listed until it ends."""
        self.talk.offer(self.now, agent, name, ttl)
        self.do(OfferResource(agent=agent, namespace="", name=name, note="", ttl_s=ttl))

    @rule(agent=AGENTS, name=TEXTS)
    def withdraw(self, agent: str, name: str) -> None:
        """Only by who offers it, and while it is on offer."""
        was = self.talk.withdraw(self.now, agent, name)
        outcome = self.do(WithdrawResource(agent=agent, namespace="", name=name))
        assert (outcome.reason if isinstance(outcome, Refusal) else "") == ("" if was else "NOT_HELD")

    @rule(seconds=st.sampled_from([30.0, 599.0, 600.0, 86_399.0, 86_400.0, 2_592_000.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule(snapshot=st.booleans())
    def restart(self, snapshot: bool) -> None:
        """INV-RR-1, INV-RR-2: the rows alone, or a snapshot, tell the same."""
        again = (
            restore(capture(self.state, b"")) if snapshot else apply_all(State(), (row.event() for row in self.rows))
        )
        assert again.mail.chat == self.state.mail.chat and again.mail.boxes == self.state.mail.boxes
        assert again.board == self.state.board and again.seq == self.state.seq
        self.state = again

    @invariant()
    def everyone_has_to_read_what_the_model_says(self) -> None:
        """INV-DG-3, INV-CK-1: that and nothing else, in the hub's order, by the hub's stamps."""
        for agent in ("ana", "ben", "cyd", "newcomer"):
            found = self.state.mail.waiting(agent, self.now)
            assert [message.seq for message in found] == self.talk.waiting(agent, self.now)
            assert self.state.mail.pending(agent, self.now) == len(found)
            expected: dict[int, Any] = {one.seq: one for one in self.talk.said}
            for message in found:
                one = expected[message.seq]
                assert (message.sent.sender, message.sent.to, message.sent.at) == (one.sender, one.to, one.at)
                assert one.sender == HUB_AGENT or message.sent.body == one.body

    @invariant()
    def watermarks_never_fall(self) -> None:
        """INV-DG-3."""
        for agent in ("ana", "ben", "cyd"):
            mark = self.state.mail.watermark(agent)
            assert self.seen.get(agent, 0) <= mark <= self.state.seq
            self.seen[agent] = mark

    @invariant()
    def the_board_is_the_model_s(self) -> None:
        """Notes and open offers, in order."""
        notes = [(n.added.at, n.added.agent, n.added.task_id, n.added.text) for n in self.state.board.notes]
        assert notes == self.talk.notes
        offers = [(o.at, o.expires_at, o.agent, o.name) for o in self.state.board.open_offers(self.now)]
        assert offers == self.talk.listed(self.now)

    @invariant()
    def the_claim_stands(self) -> None:
        """INV-RR-3: nothing that is said touches a lease."""
        assert self.state.epoch == 1 and list(self.state.claims) == [("", "held")]

    def teardown(self) -> None:
        """The bounds are put back."""
        self.patch.undo()


TestTalk = TalkMachine.TestCase
TestTalk.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
