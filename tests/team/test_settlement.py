"""What another hub answered is on record at once, and on the disk a moment later: nothing waits for that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from synapse_git.constants import OWNER_DEADLINE_SECONDS
from synapse_hub.core.commands.team import ForwardClaim, SettleForward
from synapse_hub.federation.receipts import Sending, receipt
from synapse_hub.journal.record import Record
from synapse_hub.journal.sqlite import SqliteStore
from synapse_hub.journal.store import StoreError
from tests.hub.desk import FakeClock, Rig, running, take
from tests.team.hosts import NAMESPACE, until


class NotingStore(SqliteStore):
    """Notes which kinds of events were appended with a sync and without; ``full``: the disk has no more room."""

    synced: ClassVar[list[str]] = []
    unsynced: ClassVar[list[str]] = []
    full = False

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        (NotingStore.synced if durable else NotingStore.unsynced).extend(record.kind for record in records)
        super().append(records, durable=durable)

    def probe(self) -> None:
        if NotingStore.full:
            raise StoreError("no room")
        super().probe()


def carries(rig: Rig, task_id: str) -> None:
    """A claim at another hub: the intent and, in its own time, the receipt."""
    rig.answer(
        ForwardClaim(
            namespace=NAMESPACE,
            task_id=task_id,
            agent="ben",
            verb="claim",
            key=task_id,
            wall=5.0,
            patience_s=OWNER_DEADLINE_SECONDS,
        )
    )
    document = {
        "task_id": task_id, "namespace": NAMESPACE, "owner": "ben", "worktree": "", "paths": ["src"],
        "status": "claimed", "note": "", "epoch": 41, "version": 0, "granted_at": 5.0,
        "lease_expires_at": 3605.0, "checkpoint": None,
    }  # fmt: skip
    rig.answer(receipt(document, {"seq": 1, "now": 5.0}, Sending(5.0, 5.0, "boot"), "uid:1", task_id))


def test_only_the_answer_of_another_hub_is_synced_later(tmp_path: Path) -> None:
    """The intent is synced before anything is sent. Once nothing else comes, followers may be shown it all."""
    NotingStore.synced.clear()
    NotingStore.unsynced.clear()
    with running(tmp_path, FakeClock(), NotingStore) as rig:
        carries(rig, "t1")
        rig.answer(take("mine"))
        carries(rig, "t2")
        rig.answer(SettleForward(namespace=NAMESPACE, task_id="t2", key="t2", ended=True))
        assert NotingStore.unsynced == ["receipt_kept", "receipt_kept", "forward_settled"]
        assert NotingStore.synced == ["claim_forwarded", "claim_granted", "claim_forwarded"]
        until(lambda: rig.hub.synced_seq == rig.hub.state.seq == 6)
    with running(tmp_path) as rig:
        assert list(rig.hub.state.team.receipts) == [(NAMESPACE, "t1")]


def test_what_cannot_be_synced_later_is_read_anew_from_the_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As after any other failure of the journal: granting stops meanwhile."""
    with running(tmp_path, FakeClock(), NotingStore) as rig:
        NotingStore.full = True
        carries(rig, "t1")
        until(lambda: rig.hub.synced_seq == rig.hub.state.seq)
        NotingStore.full = False
        assert "granting stops" in caplog.text and "the journal is recovered" in caplog.text
        assert list(rig.hub.state.team.receipts) == [(NAMESPACE, "t1")]
