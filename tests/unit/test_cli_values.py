"""Small values of the command line: times, words, documents, tables, lines of the log."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_git import document, scope
from synapse_git.cli import coinage, entry, phrase, span, table, verb
from synapse_hub.core import events


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("30", 30), ("45s", 45), ("90m", 5400), ("2h", 7200), ("1d", 86400), ("1.5h", 5400), ("1h30m", 5400)],
)
def test_a_time_is_seconds_or_a_number_with_a_unit(given: str, seconds: float) -> None:
    """Plain numbers are seconds; s, m, h and d multiply, and add up."""
    assert span.seconds(given) == seconds


@pytest.mark.parametrize(
    "given", ["", "h", "-5", "0", "0m", "inf", "nan", "1e3", "5 m", "٣", "1.2.3", "1.", "soon", "1h30x", "1hm", "h1"]
)
def test_a_time_that_is_none_is_named(given: str) -> None:
    """Whatever is no length of time is an error that a person can read."""
    if given == "1.":
        assert span.seconds(given) == 1
        return
    with pytest.raises(ValueError, match="time"):
        span.seconds(given)


@pytest.mark.parametrize("given", ["", "-1", "1.0", "x", "²", "9" * 19])
def test_a_count_is_a_whole_number(given: str) -> None:
    """Digits only, and no more than fit."""
    with pytest.raises(ValueError, match="whole number"):
        verb.count(given)


@pytest.mark.parametrize("convert", [verb.text, verb.raw])
def test_an_empty_value_is_refused(convert: type[str]) -> None:
    """A script's unset variable must not claim the whole directory."""
    with pytest.raises(ValueError, match="empty"):
        convert("")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_VALUES)
def test_documents_are_written_and_read_as_json_does(value: object) -> None:
    """Our writer is understood by json, and our reader understands json."""
    assert json.loads(document.write(value)) == value
    assert document.read(json.dumps(value).encode()) == value


@pytest.mark.parametrize("raw", [b"", b"{", b"1 2", b"\xff", b'{"a":}', b"nul", b'{"a":1}x', b"'a'"])
def test_what_is_no_document_is_an_error(raw: bytes) -> None:
    """A broken text raises ValueError, never anything else."""
    with pytest.raises(ValueError):
        document.read(raw)


def test_a_document_takes_json_types_only() -> None:
    """A value that JSON has no word for is a mistake of ours."""
    with pytest.raises(TypeError, match="set"):
        document.write({"a": {1, 2}})


def test_a_path_that_is_not_utf_8_travels_as_base64() -> None:
    """Names that are text travel as text, others as their bytes."""
    assert scope.to_wire("src/ünï") == "src/ünï"
    assert scope.to_wire("src/\udcff") == {"b64": "c3JjL/8="}


def test_made_up_tasks_are_readable_and_differ() -> None:
    """A thousand made-up ids: all different, all two words and a number."""
    made = {coinage.task() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(task.split("-")) == 3 and task.isascii() for task in made)


@pytest.mark.parametrize(("word", "typed"), [("login", "login"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''")])
def test_words_are_quoted_for_a_shell(word: str, typed: str) -> None:
    """What is printed to be typed can be typed."""
    assert phrase.shell(word) == typed


def test_a_table_without_a_terminal_is_plain_and_aligned() -> None:
    """Columns line up, nothing trails."""
    text = table.aligned(("TASK", "BY"), [("login", "ana"), ("a", "")])
    assert text == "TASK   BY\nlogin  ana\na"


_CLAIM = {
    "task_id": "login",
    "namespace": "n",
    "owner": "ana",
    "worktree": "wt:1",
    "paths": ["src"],
    "note": "",
    "epoch": 3,
}
_BEN = {"agent": "ben", "worktree": "wt:1", "namespace": "n", "paths": ["src/a"], "holders": [_CLAIM]}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"kind": "claim_granted", "claim": _CLAIM, "cause": "new"}, "ana claimed src (task login, epoch 3)"),
        ({"kind": "claim_granted", "claim": _CLAIM, "cause": "renewed"}, "ana renewed src (task login, epoch 3)"),
        (
            {"kind": "claim_granted", "claim": _CLAIM | {"paths": [], "note": "all\n"}, "cause": "taken_over"},
            'ana took over the whole worktree (task login, epoch 3): "all\\n"',
        ),
        ({"kind": "lease_extended", "task_id": "login", "lease_expires_at": 0.0}, "task login extended until"),
        ({"kind": "claim_released", "task_id": "login", "by": "ana"}, "ana released task login"),
        ({"kind": "lease_expired", "task_id": "login", "owner": "ana"}, "the lease of ana on task login ran out"),
        (
            {"kind": "claim_denial", "reason": "SCOPE_CONFLICT", **_BEN},
            "ben was refused src/a (SCOPE_CONFLICT), held by ana (task login)",
        ),
        (
            {"kind": "guard_denial", "action": "commit", "paths_total": 4, **_BEN},
            "ben was refused a change (commit) of src/a and 3 more, held by ana (task login)",
        ),
        (
            {"kind": "guard_override", "action": "commit", "paths_total": 1, "reason_text": "urgent", **_BEN},
            'ben overrode the guard (commit) on src/a, held by ana (task login): "urgent"',
        ),
        (
            {"kind": "guard_override", "action": "commit", "paths_total": 1, "reason_text": "u", "changed_total": 3}
            | {**_BEN, "spooled_at": 1.0},
            f"ben overrode the guard (commit) at {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(1.0))} on src/a, "
            'held by ana (task login), in a change of 3 paths: "u"',
        ),
        (
            {"kind": "guard_override", "action": "ref", "paths_total": 0, "reason_text": "u", "agent": "ben"}
            | {"paths": [], "holders": []},
            'ben overrode the guard (ref): "u"',
        ),
        (
            {"kind": "worktree_registered", "root": {"b64": "L/8="}, "layers": ["guard"]},
            "worktree /\\xff is covered by guard",
        ),
        ({"kind": "worktree_registered", "root": "/r", "layers": []}, "worktree /r is covered by nothing"),
        (
            {"kind": "namespace_governed", "namespace": "acme/api", "owner": "b", "mine": False},
            "claims in acme/api are granted by the hub b",
        ),
        (
            {"kind": "namespace_ceded", "namespace": "acme/api", "owner": "b"},
            "acme/api goes to the hub b, and nobody grants in it until it is there",
        ),
        (
            {"kind": "namespace_inherited", "namespace": "acme/api", "giver": "a"},
            "this hub grants in acme/api from now on, in place of the hub a",
        ),
        ({"kind": "ownership_contested", "namespace": "acme/api", "by": "c"}, "the hub c says that it owns acme/api"),
        (
            {"kind": "receipt_ended", "task_id": "t", "cause": "revoked"},
            "the claim on task t was taken away, says the owner",
        ),
        ({"kind": "moon_landed", "crew": ["a"], "id": "1:2"}, 'moon_landed {"crew": ["a"]}'),
    ],
)
def test_each_kind_of_event_is_a_line_for_people(event: dict[str, object], said: str) -> None:
    """The log names who, what and against whom; a kind unknown to this version is printed as it is."""
    at = 1_700_000_000.0
    line = entry.described({"at": at, **event})
    assert line.startswith(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) + "  " + said)


def test_every_kind_of_event_has_words_for_people() -> None:
    """None is printed as it lies in the journal."""
    assert set(entry.WORDS) == set(events.KINDS)


def test_bookkeeping_is_not_shown_to_people() -> None:
    """Kept answers are of no interest to a reader of the log."""
    assert entry.described({"at": 0.0, "kind": "command_answered"}) == ""
