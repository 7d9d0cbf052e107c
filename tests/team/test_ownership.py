"""Who grants in a namespace: every combination of file and memory against a second telling of the rule."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from immutables import Map

from synapse_git.governed import canonical
from synapse_hub.core.team.state import Governed, Team
from synapse_hub.federation.joining import Admission, CannotJoin, timely
from synapse_hub.federation.names import addressed, claimed_by_other, from_peer, seen_by
from synapse_hub.federation.ownership import resolve
from synapse_hub.hubfile import HubFile, Namespace, Peer

NAMES = ("", "local:1", "acme/api", "other")
# What the file says of acme/api: no file, broken, nothing at all, another namespace only, this hub, a peer.
FILES = ("none", "broken", "empty", "elsewhere", "mine", "peers")
# What the journal remembers of acme/api, and who contests it.
MEMORIES = ("nothing", "another", "mine", "peers", "mine contested", "peers contested")


def _file(kind: str) -> HubFile | None:
    peers = {"b": Peer(key="k", url="https://h:1", certificate="c")}
    entries = {
        "elsewhere": {"third": Namespace(owner="a")},
        "mine": {"acme/api": Namespace(owner="a", members=("b",))},
        "peers": {"acme/api": Namespace(owner="b")},
    }
    return None if kind in ("none", "broken") else HubFile(id="a", peers=peers, namespaces=entries.get(kind, {}))


def _team(kind: str) -> Team:
    if kind == "nothing":
        return Team()
    if kind == "another":
        return Team(governed=Map({"third": Governed("a", True, (), "repository")}))
    mine = kind.startswith("mine")
    contested = ("b" if mine else "c",) if kind.endswith("contested") else ()
    return Team(governed=Map({"acme/api": Governed("a" if mine else "b", mine, (), "repository", contested)}))


def oracle(name: str, file: str, memory: str) -> tuple[str, str]:
    """In the order in which the rules read, each by itself."""
    if name in ("", "local:1"):
        return "local", ""
    if name == "other":
        known = file in ("broken", "elsewhere", "mine", "peers") or memory != "nothing"
        return ("ungoverned", "") if known else ("local", "")
    if memory.endswith("contested"):
        return "contested", "a" if memory.startswith("mine") else "b"
    if file in ("mine", "peers"):
        return ("local", "a") if file == "mine" else ("remote", "b")
    unheard_of = file in ("none", "empty") and memory == "nothing"
    return ("local", "") if unheard_of else ("ungoverned", "")


@pytest.mark.parametrize(("name", "file", "memory"), list(product(NAMES, FILES, MEMORIES)))
def test_inv_mh_3_ownership_of_every_combination(name: str, file: str, memory: str) -> None:
    """Granted here only if the file says so, or if nothing ever spoke of an owner; else asked, or refused."""
    found = resolve(name, _file(file), "line 3 is wrong" if file == "broken" else "", _team(memory))
    assert (found.kind, found.owner) == oracle(name, file, memory)
    refusals = {"ungoverned": "UNGOVERNED", "contested": "CONTESTED"}
    assert (found.refusal and found.refusal.reason) == refusals.get(found.kind)


@pytest.mark.parametrize(
    ("given", "here", "back"),
    [("ana", "b/ana", "ana"), ("x/y", "b/x/y", "x/y"), ("a/cy", "cy", "a/cy"), ("c/dan", "c/dan", "c/dan")],
)
def test_names_are_plain_at_home_and_full_abroad(given: str, here: str, back: str) -> None:
    """Whom an agent of b means, as the owner a calls it, and as b is told about it."""
    assert addressed("b", "a", ("b", "c"), given) == here
    assert seen_by("b", "a", ("b", "c"), here) == back


def test_no_agent_is_taken_for_another_hubs() -> None:
    """A name that begins with the id of a hub of the team is that hub's to give."""
    assert claimed_by_other("b/ana", "a", ("b",)) and claimed_by_other("a/ana", "a", ("b",))
    assert claimed_by_other("b", "a", ("b",)), "b/ana would pass for a subagent of it"
    assert not claimed_by_other("feature/ana", "a", ("b",)) and not claimed_by_other("a", "a", ("b",))
    assert from_peer("b", "ana") == "b/ana"


@pytest.mark.parametrize(("now", "word"), [(1000.0, ""), (996.0, ""), (4600.0, "ahead of"), (-2600.0, "behind")])
def test_nobody_joins_with_a_clock_by_which_it_would_be_refused(now: float, word: str) -> None:
    """Every request is dated; a hub of the first versions does not say what time it is."""
    admission = Admission(id="a", key="k", namespace="acme/api", remotes=(), exclusion="repository", wall=1000.0)
    timely(msgspec.structs.replace(admission, wall=None), "https://a:1", now)
    try:
        timely(admission, "https://a:1", now)
    except CannotJoin as error:
        assert word and word in str(error) and error.reason == "EXPIRED" and "60 min" in str(error)
    else:
        assert not word


@pytest.mark.parametrize(
    "url",
    [
        "git@host:acme/api.git",
        "https://host/acme/api",
        "https://me:secret@HOST:8443/acme/api.git/",
        "ssh://git@host:22/acme/api",
        "git@host:/acme/api",
        "https://host//acme/api",
        "git://host/acme/api",
    ],
)
def test_the_ways_to_one_repository_are_one(url: str) -> None:
    """By ssh and by https, with a port or a name before it."""
    assert canonical(url) == "host/acme/api"


def test_ways_to_other_repositories_are_others() -> None:
    """Addresses of numbers keep all of theirs; what looks like a directory is one."""
    assert canonical("ssh://git@[fe80::1]:22/acme/api") == canonical("https://[FE80::1]/acme/api") == "fe80::1/acme/api"
    others = [
        "https://host/acme/api2",
        "https://other/acme/api",
        "git@host:me/api",
        "/srv/host/acme/api",
        "./host:acme/api",
    ]
    assert "host/acme/api" not in map(canonical, others)
