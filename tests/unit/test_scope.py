"""The scope algebra against an oracle on tuples of parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_git import scope
from synapse_git.constants import MAX_DECLARED_PATHS, MAX_PATH_BYTES
from synapse_git.errors import InvalidScope
from tests.machine.shadow import overlapping, parts

NAMES = st.sampled_from(["a", "ab", "b", "a-b", ".a", "a b", "A"])
PATHS = st.lists(NAMES, max_size=4).map("/".join)
ANY_NAME = st.binary(min_size=1, max_size=8).filter(
    lambda raw: b"/" not in raw and b"\0" not in raw and raw not in (b".", b"..")
)


@given(PATHS, PATHS)
def test_inv_me_2_overlap_is_ancestry_of_parts(a: str, b: str) -> None:
    """Exactly when one list of parts begins with the other; symmetric and reflexive."""
    assert scope.overlap(a, b) is overlapping(parts(a), parts(b)) is scope.overlap(b, a)
    assert scope.overlap(a, a)
    assert scope.covers(a, b) is (parts(b)[: len(parts(a))] == parts(a))


@given(st.lists(ANY_NAME, min_size=1, max_size=4), st.lists(st.sampled_from([b"", b"."]), max_size=3))
def test_every_spelling_of_a_path_is_the_same_path(names: list[bytes], noise: list[bytes]) -> None:
    """``./a//b/`` is ``a/b``, whatever bytes the names are made of."""
    plain = scope.from_bytes(b"/".join(names))
    noisy = scope.from_bytes(b"/".join([b".", *names, *noise, b""]))
    assert scope.normalise(noisy) == plain
    assert scope.to_bytes(plain) == b"/".join(names)


@pytest.mark.parametrize("path", ["/a", "..", "a/../b", "a/..", "a\0b", "x" * (MAX_PATH_BYTES + 1)])
def test_what_is_no_path_in_a_tree_is_refused(path: str) -> None:
    """Absolute, climbing, holding a NUL, or too long."""
    with pytest.raises(InvalidScope):
        scope.normalise(path)


def test_inv_me_4_any_root_in_a_set_makes_it_the_whole_tree() -> None:
    """``[]`` and ``.`` are the same claim."""
    assert scope.declare(["a", "."]) == scope.declare([]) == ()
    assert scope.declare(["b", "a/", "a"]) == ("a", "b")


def test_too_many_paths_are_refused_with_the_way_out() -> None:
    """The limit is on what is left after spelling."""
    scope.declare([f"f{number}" for number in range(MAX_DECLARED_PATHS)] * 2)
    with pytest.raises(InvalidScope, match="director"):
        scope.declare([f"f{number}" for number in range(MAX_DECLARED_PATHS + 1)])


@given(st.text(max_size=10), st.booleans(), st.booleans())
def test_folding_is_idempotent_and_keeps_the_parts(path: str, case: bool, compose: bool) -> None:
    """Folding twice is folding once, and no slash comes or goes."""
    folded = scope.fold(path, case=case, compose=compose)
    assert scope.fold(folded, case=case, compose=compose) == folded
    assert folded.count("/") == path.count("/")


@pytest.mark.parametrize(
    ("one", "other"), [("README", "readme"), ("é", "e\u0301"), ("É", "e\u0301"), ("straße", "STRASSE"), ("Å", "å")]
)
def test_spellings_that_one_file_answers_to_fold_together(one: str, other: str) -> None:
    """Case and composition."""
    assert scope.fold(one, case=True, compose=True) == scope.fold(other, case=True, compose=True)


@given(st.binary(max_size=20))
def test_what_is_shown_is_printable(raw: bytes) -> None:
    """A hostile name cannot write control sequences to a terminal."""
    assert scope.show(scope.from_bytes(raw)).isprintable()
