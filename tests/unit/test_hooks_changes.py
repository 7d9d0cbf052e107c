"""Paths between Git and the hub, and what the hooks make of an environment."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from synapse_git import scope
from synapse_git.checkout import Checkout
from synapse_hooks import changes, override, verdict
from synapse_hooks.run import Run
from synapse_hooks.verdict import Change

PART = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=5)
PATHS = st.lists(st.lists(PART, min_size=1, max_size=3).map("/".join), min_size=1, max_size=5)
SETTINGS = st.sampled_from([{}, {"core.ignorecase": "true"}, {"core.precomposeunicode": "true"}])


@given(PATHS, st.sampled_from(["", "lib", "Lib/É"]), SETTINGS)
def test_folding_all_paths_at_once_is_folding_each(paths: list[str], prefix: str, settings: dict[str, str]) -> None:
    """Thirty thousand paths are spelled in one go, and come out as each one alone would."""
    here = Checkout("/r", "/r/.git", "/r/.git", settings)
    here.prefix = prefix
    raw = b"".join(scope.to_bytes(path) + b"\0" for path in paths)
    assert changes.spelled(raw, here) == b"".join(scope.to_bytes(here.spell(path)) + b"\0" for path in paths)


def test_bytes_that_are_no_text_survive() -> None:
    """A file name that is not UTF-8 is judged by its bytes."""
    here = Checkout("/r", "/r/.git", "/r/.git", {"core.ignorecase": "true"})
    assert changes.spelled(b"A/\xff\xfe\0", here) == b"a/\xff\xfe\0"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_names_survive_the_header(name: str) -> None:
    """Any agent's name can be sent in a header, in ASCII."""
    quoted = verdict.quote(name)
    assert quoted.isascii()
    assert "\n" not in quoted
    assert unquote(quoted) == name


def test_only_variables_that_say_where_things_are_reach_git() -> None:
    """Tracing, external programs and the like stay out of the questions a hook asks."""
    given = {"GIT_DIR": ".git", "GIT_CONFIG_COUNT": "0", "GIT_TRACE": "/x", "GIT_EXTERNAL_DIFF": "/x", "HOME": "/h"}
    asking = Run("pre-commit", 1, "", given).asking
    kept = {"GIT_DIR": ".git", "GIT_CONFIG_COUNT": "0", "HOME": "/h"}
    assert asking == kept | {"LC_ALL": "C", "GIT_NO_REPLACE_OBJECTS": "1"}


def test_one_question_is_enough_unless_it_is_a_merge() -> None:
    """What differs from one parent only counts in the checkout, not in the shared tree."""
    same = Change("ana", "n", "wt:1", "commit", b"a\0", b"a\0")
    assert same.parts() == [("n", "wt:1", b"a\0", "allow")]
    merge = Change("ana", "n", "wt:1", "merge", b"a\0b\0", b"b\0")
    assert merge.parts() == [("", "wt:1", b"a\0b\0", "allow"), ("n", "", b"b\0", "allow")]
    merge.unclaimed = "warn"
    assert merge.parts()[2:] == [("n", "wt:1", b"b\0", "warn")]
    clean = Change("ana", "n", "wt:1", "merge", b"a\0", b"")
    assert clean.parts() == [("", "wt:1", b"a\0", "allow")]


def test_an_override_of_very_many_paths_names_directories() -> None:
    """A record fits into one request, and covers at least what was changed."""
    paths = [f"{'d' * 50}{number % 50}/{'f' * 50}{number}" for number in range(30_000)]
    document = override._document(
        Change("ana", "n", "wt:1", "commit", b"".join(path.encode() + b"\0" for path in paths), b""), "why"
    )
    assert document["paths"] == sorted({f"{'d' * 50}{number}" for number in range(50)})


def test_a_blank_reason_is_no_override() -> None:
    """Setting the variable is not enough; it has to say something."""
    assert verdict.overriding({}) == ""
    assert verdict.overriding({"SYNAPSE_OVERRIDE": "  "}) == ""
    assert verdict.overriding({"SYNAPSE_OVERRIDE": " why "}) == "why"
