"""Who changed a file that somebody holds, on paper."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from synapse_hub.announcements import Announcements
from synapse_hub.core.attribution import Announced, Change, Told, undisputed, writer
from synapse_hub.core.claim import Claim

NOW = 1000.0
HELD = NOW - 600
BOTH = {"ana", "bo"}
# Who had Git write something, and when.
RAN = [("bo", NOW + 1), ("cy", NOW + 50), ("ana", NOW + 100), ("bo", NOW + 100)]


def claim(**given: Any) -> Claim:
    fields: dict[str, Any] = {"task_id": "t", "namespace": "", "owner": "ana", "principal": "p", "worktree": "wt:1"}
    fields |= {"paths": ("src",), "ttl_s": 3600.0, "epoch": 1, "granted_at": HELD, "lease_expires_at": NOW + 3600}
    return Claim(**(fields | given))


def wrote(agent: str, sha256: str | None, at: float = NOW) -> Announced:
    return Announced(agent, at, written=True, sha256=sha256)


def _change(
    sha256: str | msgspec.UnsetType | None = msgspec.UNSET, changed_at: float = NOW, *, git: bool = False
) -> Change:
    return Change("src/a", changed_at, sha256, git)


CASES: list[tuple[str, list[Announced], set[str], dict[str, Any], str]] = [
    ("alone, it is the holder", [], {"ana"}, {}, "ana"),
    ("not alone, nobody knows", [], BOTH, {}, ""),
    ("only the other is there, and yet nobody knows", [], {"bo"}, {}, ""),
    ("another's tool wrote just this", [wrote("bo", "h")], BOTH, {"sha256": "h"}, "bo"),
    ("another's tool took it away", [wrote("bo", None)], BOTH, {"sha256": None}, "bo"),
    ("another's tool wrote something else", [wrote("bo", "other")], BOTH, {"sha256": "h"}, ""),
    ("another's tool wrote this, but long before", [wrote("bo", "h", NOW - 30)], BOTH, {"sha256": "h"}, ""),
    ("another's tool wrote, content unseen", [wrote("bo", "h")], BOTH, {}, ""),
    ("two others wrote the same", [wrote("bo", "h"), wrote("cy", "h")], BOTH, {"sha256": "h"}, ""),
    ("the holder wrote the same as another", [wrote("bo", "h"), wrote("ana", "h")], BOTH, {"sha256": "h"}, "ana"),
    ("the holder is about to", [Announced("ana", NOW - 10)], BOTH, {"sha256": "h"}, "ana"),
    ("the holder was about to, long ago", [Announced("ana", NOW - 100)], BOTH, {"sha256": "h"}, ""),
    ("the holder's formatter ran", [wrote("ana", "x", NOW - 1)], BOTH, {"sha256": "h"}, "ana"),
    ("the holder had finished", [Announced("ana", NOW - 20), wrote("ana", "x", NOW - 19)], BOTH, {"sha256": "h"}, ""),
    ("another is about to", [Announced("bo", NOW - 1)], BOTH, {"sha256": "h"}, ""),
    ("the holder had written this before", [wrote("ana", "h", NOW - 99)], BOTH, {"sha256": "h"}, "ana"),
    ("the holder's subagent wrote it", [wrote("ana/1", "h")], BOTH, {"sha256": "h"}, "ana"),
    ("another had Git write it", [], BOTH, {"git": True}, "bo"),
    ("another had Git write something a while ago", [], BOTH, {"git": True, "changed_at": NOW + 4}, ""),
    ("nobody had Git write it just then", [], BOTH, {"git": True, "changed_at": NOW + 20}, ""),
    ("the holder had Git write, and so had another", [], BOTH, {"git": True, "changed_at": NOW + 99}, "ana"),
    ("another had Git write, but not this", [], BOTH, {"sha256": "h"}, ""),
    ("it was not held yet", [wrote("bo", "h", HELD - 1)], BOTH, {"sha256": "h", "changed_at": HELD - 1}, "ana"),
]


@pytest.mark.parametrize("said, present, change, expected", [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_what_excuses_is_taken_generously_and_what_accuses_is_not(
    said: list[Announced], present: set[str], change: dict[str, Any], expected: str
) -> None:
    """A name comes of that agent's own word about this very content, and of nothing else."""
    assert writer(claim(), _change(**change), Told(said, present, RAN)) == expected


@pytest.mark.parametrize(
    "said",
    [[Announced("ana", NOW - 10)], [wrote("ana", "x", NOW - 1)], []],
    ids=["about to", "just did", "claimed for"],
)
def test_an_expected_edit_excuses_only_what_nobody_else_owns_up_to(said: list[Announced]) -> None:
    """Until all have had the time to speak it is open; then it is excused, and still not known to be the holder's."""
    held = claim(task_id="auto:1", granted_at=NOW - 2)
    change = _change("h")
    assert writer(held, change, Told(said, BOTH, complete=False)) == ""
    assert writer(held, change, Told([*said, wrote("bo", "h", NOW + 1)], BOTH)) == "bo"
    assert writer(held, change, Told(said, BOTH)) == "ana" and not undisputed(held, change, Told(said, BOTH))


def test_its_own_word_on_the_content_makes_it_known_to_be_the_holders() -> None:
    """Whoever else is there, and whatever else was said of that file."""
    said = [wrote("bo", "x", NOW - 9), wrote("ana", "h")]
    assert undisputed(claim(), _change("h"), Told(said, BOTH, complete=False))
    assert not undisputed(claim(), _change("x"), Told(said, BOTH))


def test_an_automatic_claim_announces_the_edit_it_was_taken_for() -> None:
    """It needs no further word; later changes do."""
    taken = claim(task_id="auto:1", granted_at=NOW - 1)
    assert writer(taken, Change("src/a", NOW), Told([], BOTH)) == "ana"
    assert writer(taken, Change("src/a", NOW + 100), Told([], BOTH)) == ""


def test_alone_is_undisputed_unless_another_has_said_something() -> None:
    """Then the content has to be looked at."""
    change = Change("src/a", NOW)
    assert undisputed(claim(), change, Told([], {"ana"}))
    assert not undisputed(claim(), change, Told([wrote("bo", "h")], {"ana"}))
    assert not undisputed(claim(), change, Told([], BOTH))


def test_an_intent_is_found_whatever_was_said_after_it() -> None:
    """What was judged earlier may be written down later: that hides nothing."""
    tree, said = ("", "wt:1"), Announcements()
    said.add(tree, [("a", Announced("bo", NOW))])
    said.add(tree, [("b", Announced("cy", NOW - 1))])
    assert list(said.intended(NOW - 0.5)) == [(tree, "a")]


def test_announcements_are_forgotten_by_age_and_by_number() -> None:
    """Memory stays bounded, and the newest word on each path is the last to go."""
    tree, said = ("", "wt:1"), Announcements()
    said.add(tree, [("a", wrote("bo", str(number), NOW)) for number in range(50)])
    assert [one.sha256 for one in said.of(tree, "a", NOW)][-1] == "49"
    assert len(said.of(tree, "a", NOW)) == 16
    assert said.of(tree, "a", NOW + 121) == [] and said.of(("", "wt:2"), "a", NOW) == []
    said.add(tree, [(f"f{number}", wrote("bo", "h", NOW + 1)) for number in range(20_001)])
    assert said.of(tree, "a", NOW + 1) == [] and said.of(tree, "f20000", NOW + 1)
    assert said.present(tree, NOW + 1) == {"bo"} and said.present(tree, NOW + 4000) == set()
