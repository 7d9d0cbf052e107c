"""The express lane against click: whatever it accepts, click reads to the same values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synapse_git.cli import catalogue, express, menu
from synapse_git.cli.verb import EVERYWHERE, Option
from synapse_git.errors import UsageError

_GOOD = {"ttl": ["90m", "2h", "30", "1.5d"], "epoch": ["0", "7"]}
_PLAIN = ["login", "src/api", ".", "a=b", "ünï", "x y", "claim", "7"]
_ODD = ["-", "--", "", "-1", "\udcff", "90m", "hub"]


def _option(option: Option) -> st.SearchStrategy[list[str]]:
    """One option, as it should be spelled."""
    name = st.sampled_from(option.names)
    if not option.metavar:
        return name.map(lambda spelled: [spelled])
    value = st.sampled_from(_GOOD.get(option.key, _PLAIN))
    pair = st.tuples(name, value)
    joined = st.tuples(st.sampled_from(option.names[-1:]), value).map(lambda parts: ["=".join(parts)])
    return st.one_of(pair.map(list), joined)


def _strange(options: Sequence[Option]) -> st.SearchStrategy[list[str]]:
    """Words that may be wrong where they stand."""
    name = st.sampled_from([name for option in options for name in option.names])
    pair = st.tuples(name, st.sampled_from(_PLAIN + _ODD))
    return st.one_of(
        name.map(lambda word: [word]),
        pair.map(lambda parts: ["".join(parts)]),
        pair.map(list),
        st.sampled_from([*_ODD, "--help", "-h", "--nonsense", "-x", "--version", "--jso"]).map(lambda word: [word]),
    )


@st.composite
def _command_lines(draw: st.DrawFn) -> list[str]:
    """Command lines around some verb: mostly right, often not."""
    verb = draw(st.sampled_from(catalogue.verbs()))
    most = 0 if verb.argument is None else 3 if verb.argument.many else 1
    everywhere = draw(st.lists(st.sampled_from(EVERYWHERE), max_size=2, unique=True))
    own = draw(st.lists(st.sampled_from(verb.options), max_size=3, unique=True)) if verb.options else []
    before = [draw(_option(option)) for option in everywhere[:1]]
    after = [draw(_option(option)) for option in (*everywhere[1:], *own)]
    after += [[word] for word in draw(st.lists(st.sampled_from(_PLAIN), min_size=min(most, 1), max_size=most))]
    strange = draw(st.lists(_strange((*EVERYWHERE, *verb.options)), max_size=1))
    after = draw(st.permutations(after + strange))
    return [*chain(*before), *verb.name.split(" "), *chain(*after)]


def _click(words: list[str]) -> tuple[str, dict[str, object]] | None:
    """What click reads, None where it refuses or answers itself."""
    try:
        found = menu.parse(["synapse-git", *words], {})
    except UsageError:
        return None
    return None if isinstance(found, int) else (found[0].name, found[1])


@settings(max_examples=300, deadline=None)
@given(_command_lines())
@example(["-C", "x", "claim", "--json", "-t", "login", "--ttl=90m", "--", "-odd"])
@example(["--agent", "a", "claim", "--agent", "b", "p"])
@example(["hub", "--json", "status"])
def test_whatever_the_express_lane_accepts_click_reads_the_same(words: list[str]) -> None:
    """Accepted by the express lane means: the same verb and the same values by click."""
    found = express.parse(words)
    if found is not None:
        assert (found[0].name, found[1]) == _click(words)


@pytest.mark.parametrize(
    "words",
    [
        ["claim", "src"],
        ["claim", "-t", "login", "--ttl", "90m", "--note", "why", "--", "src", "docs"],
        ["--json", "--agent", "ana", "-C", "/tmp", "claim", "--shared", "--add", "a"],
        ["claim", "--task=login", "--whole-worktree"],
        ["release", "-t", "login", "--epoch", "12"],
        ["release", "--all"],
        ["renew"],
        ["status", "--json"],
        ["show", "login"],
        ["check", "a", "b"],
        ["log", "--follow"],
        ["hub", "start"],
        ["hub", "status", "--json"],
        ["install", "--agent", "ana"],
    ],
)
def test_plain_commands_take_the_express_lane(words: list[str]) -> None:
    """What people and agents usually type never waits for click."""
    assert express.parse(words) is not None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["claim", "--help"],
        ["claim", "-t"],
        ["claim", "-t", "--add"],
        ["claim", "-tlogin", "src"],
        ["claim", "--ttl", "soon", "src"],
        ["claim", "--ttl", "1h", "--ttl", "2h", "src"],
        ["claim", "--add=yes", "src"],
        ["claim", ""],
        ["show"],
        ["show", "a", "b"],
        ["renew", "stray"],
        ["hub"],
        ["hub", "stpo"],
        ["clam", "src"],
        ["--version"],
        ["release", "--epoch", "-1"],
    ],
)
def test_whatever_is_doubtful_is_left_to_click(words: list[str]) -> None:
    """Help, mistakes and ambiguity are declined, never guessed at."""
    assert express.parse(words) is None


def test_every_verb_is_declared_where_the_catalogue_says() -> None:
    """Each name in the catalogue has its declaration, and each declaration is in the catalogue."""
    modules = {module for group in catalogue.GROUPS.values() for module in group.values()}
    declared = [
        verb.name for module in modules for verb in __import__(f"synapse_git.cli.{module}", fromlist=["VERBS"]).VERBS
    ]
    assert sorted(declared) == sorted(catalogue.names())
    assert [verb.name for verb in catalogue.verbs()] == catalogue.names()
