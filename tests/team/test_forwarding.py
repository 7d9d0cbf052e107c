"""What one hub asks of another, with both in this process: each verb once, and every refusal names its reason."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git.constants import FORWARD_DOUBT_SECONDS, RECEIPT_VALIDITY_SECONDS
from synapse_hub.core.commands.claims import ReleaseClaim
from synapse_hub.core.commands.team import HearAssertion
from synapse_hub.federation.form import SignedRequest
from synapse_hub.federation.refresh import Refresher
from synapse_hub.federation.sequence import Sequence
from synapse_hub.federation.signature import Signer
from synapse_hub.hubfile import HubFile, Namespace
from tests.team.desks import NAMESPACE, WALL, Pair, pair


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Pair]:
    with pair(tmp_path) as made:
        yield made


def held(team: Pair) -> dict[str, list[Any]]:
    """At the owner: the paths of each agent."""
    claims = team.a.rig.hub.state.claims.values()
    return {claim.owner: list(claim.paths) for claim in claims if claim.live(team.a.rig.clock.at)}


async def refreshed(team: Pair) -> None:
    b = team.b.desk
    refresher = Refresher(b.hub, team.b.team, b.transact, b.embassy.forwarder)
    await refresher.refresh(team.b.team.link("a"))


def asking(body: dict[str, Any], target: str = "/v2/claim") -> SignedRequest:
    headers = {"content-type": "application/json", "synapse-principal": "uid:1"}
    return SignedRequest("POST", target, headers, msgspec.json.encode(body))


async def told(team: Pair, request: SignedRequest, *, signer: Signer | None = None, nonce: str = "n") -> str:
    """The reason why the owner refuses a request that b signed, '' if it does not."""
    (signer or Signer("b", team.b.identity.key)).sign(request, "a", now=WALL, nonce=nonce)
    answer = await team.way.deliver(request)
    return str(msgspec.json.decode(answer.body).get("reason", ""))


CLAIM = {"task_id": "t", "agent": "ben", "namespace": NAMESPACE, "paths": ["src"]}


def test_what_receipts_cover_is_not_asked_about_and_nothing_is_covered_for_longer(team: Pair) -> None:
    """One request for the claim, none for a commit of it, one for a commit once the owner's word has run out."""

    async def play() -> None:
        assert (await team.b.claim("t", "src"))["owner"] == "ben"
        assert held(team) == {"b/ben": ["src"]} and not team.b.rig.hub.state.claims
        answer = await team.b.commits("src/a.py")
        assert answer.json()["verdict"] == "allow" and len(team.way.sent) == 1
        assert 0 < float(answer.headers["synapse-covered"]) <= RECEIPT_VALIDITY_SECONDS
        team.b.rig.clock.at += RECEIPT_VALIDITY_SECONDS
        assert (await team.b.commits("src/a.py")).json()["verdict"] == "allow" and len(team.way.sent) == 2

    asyncio.run(play())


def test_inv_cr_1_an_answer_that_is_lost_takes_effect_once_and_is_no_receipt(team: Pair) -> None:
    """What is given again tells what was granted then; the owner's list tells what is held."""

    async def play() -> None:
        team.way.lose = 1
        assert (await team.b.claim("t", "src"))["replayed"] is True
        assert len(team.way.sent) == 2 and team.a.rig.hub.state.claims[NAMESPACE, "t"].epoch == 1
        await team.b.desk.embassy.settled()
        assert not team.b.rig.hub.state.team.receipts
        team.b.rig.clock.at += 1
        await refreshed(team)
        assert (NAMESPACE, "t") in team.b.rig.hub.state.team.receipts

    asyncio.run(play())


def test_a_refusal_of_one_of_two_copies_settles_neither(team: Pair) -> None:
    """The other may be granted when it arrives at last."""

    async def play() -> None:
        await team.a.claim("mine", "src", agent="ana")
        assert (await team.b.claim("t", "src"))["reason"] == "SCOPE_CONFLICT"
        await team.b.desk.embassy.settled()
        assert not team.b.rig.hub.state.team.under_way
        team.way.lose = 1
        assert (await team.b.claim("t", "src"))["reason"] == "SCOPE_CONFLICT"
        await team.b.desk.embassy.settled()
        assert (NAMESPACE, "t") in team.b.rig.hub.state.team.under_way

    asyncio.run(play())


def test_inv_mh_2_a_replay_after_a_release_covers_nothing(team: Pair) -> None:
    """Another agent may have the path by now."""

    async def play() -> None:
        await team.b.claim("t", "src", key="once")
        await team.b.ask("/v2/release", {"task_id": "t", "agent": "ben", "namespace": NAMESPACE})
        assert (await team.a.claim("mine", "src", agent="ana"))["owner"] == "ana"
        assert (await team.b.claim("t", "src", key="once"))["replayed"] is True
        verdict = (await team.b.commits("src/a.py")).json()
        assert verdict["verdict"] == "refuse" and verdict["conflicts"][0]["owner"] == "a/ana"

    asyncio.run(play())


def test_an_owner_that_does_not_answer_leaves_nothing_covered(team: Pair) -> None:
    """Whether the release was done is not known: the receipt counts no more, and the agent is told so."""

    async def play() -> None:
        await team.b.claim("t", "src")
        team.way.lose = 2
        answer = await team.b.ask("/v2/release", {"task_id": "t", "agent": "ben", "namespace": NAMESPACE})
        assert answer.json()["reason"] == "OWNER_UNREACHABLE" and "not known" in answer.json()["detail"]
        assert held(team) == {}
        await team.a.claim("mine", "src", agent="ana")
        assert (await team.b.commits("src/a.py")).json()["verdict"] == "refuse"

    asyncio.run(play())


def test_what_cannot_be_sent_again_leaves_what_was_sent_open(team: Pair) -> None:
    """A release without an answer may have been done, though a second attempt never left."""

    async def play() -> None:
        await team.b.claim("t", "src")
        await team.b.desk.embassy.settled()
        body = {"task_id": "t", "agent": "ben", "namespace": NAMESPACE}
        team.way.closed = True
        await team.b.ask("/v2/release", body)
        await team.b.desk.embassy.settled()
        assert not team.b.rig.hub.state.team.under_way
        team.way.closed, team.way.lose = False, 2
        await team.b.ask("/v2/release", body, idempotency_key="once")
        team.way.closed = True
        await team.b.ask("/v2/release", body, idempotency_key="once")
        await team.b.desk.embassy.settled()
        assert (await team.b.commits("src/a.py")).json()["reason"] == "OWNER_UNREACHABLE"

    asyncio.run(play())


def test_inv_mh_2_the_intent_is_on_record_before_anything_leaves(team: Pair) -> None:
    """And until there is an answer nothing is covered."""
    found: list[bool] = []

    def look(_: SignedRequest) -> None:
        found.append((NAMESPACE, "t") in team.b.rig.hub.state.team.under_way)

    async def play() -> None:
        team.way.alter = look
        await team.b.claim("t", "src")
        await team.b.desk.embassy.settled()
        assert found == [True] and not team.b.rig.hub.state.team.under_way

    asyncio.run(play())


def test_inv_ck_2_a_request_that_comes_again_does_nothing(team: Pair) -> None:
    """Byte for byte what was sent before."""

    async def play() -> None:
        await team.b.claim("t", "src")
        again = await team.way.deliver(team.way.sent[0])
        document = msgspec.json.decode(again.body)
        assert document["reason"] == "NOT_AUTHORISED" and "here before" in document["detail"]
        assert team.a.rig.hub.state.claims[NAMESPACE, "t"].epoch == 1

    asyncio.run(play())


@pytest.mark.parametrize(
    "alter",
    [
        lambda request: setattr(request, "body", request.body.replace(b"src", b"doc")),
        lambda request: setattr(request, "target", "/v2/release"),
        lambda request: request.headers.update({"synapse-principal": "uid:7"}),
        lambda request: request.headers.update({"synapse-claim": "1"}),
        lambda request: request.headers.pop("signature"),
    ],
    ids=["body", "target", "principal", "a header more", "unsigned"],
)
def test_inv_ck_2_what_was_altered_on_the_way_is_not_done(team: Pair, alter: Callable[[SignedRequest], None]) -> None:
    """The agent hears why."""

    async def play() -> None:
        team.way.alter = alter
        assert (await team.b.claim("t", "src"))["reason"] == "NOT_AUTHORISED"
        assert held(team) == {}

    asyncio.run(play())


@pytest.mark.parametrize(("apart_s", "what"), [(-11.0, "11.2 s ago"), (2.0, "ahead")])
def test_inv_ck_2_clocks_that_are_apart_are_named(team: Pair, apart_s: float, what: str) -> None:
    """Ten seconds late or one early is too much; the agent is told by how much, and to set the clocks."""

    async def play() -> None:
        team.b.wall_s = apart_s
        refused = await team.b.claim("t", "src")
        assert refused["reason"] == "EXPIRED" and what in refused["detail"] and "clocks" in refused["fix"]
        team.b.wall_s = 0.9 if apart_s > 0 else -9.0
        assert (await team.b.claim("t", "src"))["owner"] == "ben"

    asyncio.run(play())


@pytest.mark.parametrize("verb", ["claim", "commit"])
def test_an_owner_that_has_just_started_is_asked_again(team: Pair, verb: str) -> None:
    """Nobody at the other hub takes notice, though its clock is a little behind."""
    waited: list[bool] = []

    def later(_: SignedRequest) -> None:
        waited.append(True)
        team.b.wall_s = len(waited) - 1.0

    async def play() -> None:
        team.way._app = team.a.opened(WALL - 0.5)
        team.b.wall_s, team.way.alter = -1.0, later
        if verb == "claim":
            assert (await team.b.claim("t", "src"))["owner"] == "ben"
        else:
            assert (await team.b.commits("src")).json()["verdict"] == "allow"
        assert len(waited) == 2

    asyncio.run(play())


def test_inv_mh_3_only_members_are_served_and_only_where_this_hub_owns(team: Pair) -> None:
    """One hop: what a third hub owns is not carried on, whoever asks."""
    third = HubFile(
        id="a",
        peers={"b": team.b.peer(), "c": team.b.peer("https://c:1")},
        namespaces={NAMESPACE: Namespace(owner="a"), "other": Namespace(owner="c", members=("b",))},
    )
    team.a.knows(third)

    async def play() -> None:
        assert await told(team, asking(CLAIM)) == "NOT_AUTHORISED"
        assert await told(team, asking({**CLAIM, "namespace": "other"}), nonce="2") == "NOT_AUTHORISED"
        assert await told(team, asking({**CLAIM, "namespace": ""}), nonce="3") == "NOT_AUTHORISED"
        assert await told(team, asking({**CLAIM, "namespace": "unheard"}), nonce="4") == "UNGOVERNED"
        assert held(team) == {}

    asyncio.run(play())


def test_strangers_and_what_hubs_do_not_ask_are_turned_away(team: Pair) -> None:
    """Another key under a known name, an unknown name, a route for people, no principal, words without a number."""

    async def play() -> None:
        strangers = [Signer("b", team.a.identity.key), Signer("z", team.b.identity.key)]
        for signer in strangers:
            assert await told(team, asking(CLAIM), signer=signer) == "NOT_AUTHORISED"
        letter = asking({"agent": "ben", "body": "hello"}, "/v2/messages")
        assert await told(team, letter, nonce="2") == "INVALID_REQUEST" and not team.a.rig.hub.state.mail.chat
        note = asking({"agent": "ben", "namespace": NAMESPACE, "task_id": "t", "text": "done"}, "/v2/notes")
        assert await told(team, note, nonce="4") == "NOT_AUTHORISED" and not team.a.rig.hub.state.board.notes
        nameless = asking(CLAIM)
        del nameless.headers["synapse-principal"]
        assert await told(team, nameless, nonce="3") == "INVALID_REQUEST"

    asyncio.run(play())


def test_inv_me_5_a_peers_principals_are_its_own(team: Pair) -> None:
    """Charged by the hub they came through, whatever it says; agents are called after it."""

    async def play() -> None:
        await team.b.claim("t", "src")
        claim = team.a.rig.hub.state.claims[NAMESPACE, "t"]
        assert (claim.owner, claim.principal) == ("b/ben", "b/uid:1")
        refused = await team.a.claim("x", "docs", agent="b/ben")
        assert refused["reason"] == "NAME_OWNED"

    asyncio.run(play())


def test_inv_cr_4_a_contested_namespace_is_refused_to_members_too(team: Pair) -> None:
    team.a.rig.do(HearAssertion(namespace=NAMESPACE, by="b", owns=True))

    async def play() -> None:
        assert (await team.b.claim("t", "src"))["reason"] == "CONTESTED"

    asyncio.run(play())


def test_inv_cr_4_of_two_owners_the_one_that_leaves_gives_way(team: Pair) -> None:
    """The other hears of it before it is a stranger, and grants from then on; leaving is no word about other teams."""
    claimed = HubFile(
        id="b", peers={"a": team.a.peer("https://a:1")}, namespaces={NAMESPACE: Namespace(owner="b", members=("a",))}
    )

    async def play() -> None:
        await asyncio.to_thread(team.b.knows, claimed)
        await refreshed(team)
        for side in (team.a, team.b):
            assert (await side.claim("t", "src"))["reason"] == "CONTESTED"
        left = await team.b.ask("/v2/team/leave", {"namespace": NAMESPACE})
        assert left.json()["told"] is True and left.json()["owner"] == "a"
        assert (await team.a.claim("t", "src"))["owner"] == "ben"

    asyncio.run(play())


def test_what_is_taken_away_is_given_back_once_it_covers_nothing(team: Pair) -> None:
    """The edge hears of it with the list, drops its receipt, and only then says so."""

    async def play() -> None:
        await team.b.claim("t", "src")
        team.a.rig.answer(ReleaseClaim(agent="ana", namespace=NAMESPACE, task_id="t", force=True, reason_text="urgent"))
        assert (await team.a.claim("mine", "src", agent="ana"))["reason"] == "SCOPE_CONFLICT"
        await team.b.desk.embassy.settled()
        team.b.rig.clock.at += 1
        await refreshed(team)
        assert not team.b.rig.hub.state.team.receipts
        assert (await team.a.claim("mine", "src", agent="ana"))["owner"] == "ana"

    asyncio.run(play())


def test_what_was_acknowledged_last_stands_whatever_lay_in_a_stalled_owner(team: Pair) -> None:
    """A claim and a release that were given up arrive after what was asked instead: they count no more."""

    async def play() -> None:
        way, task = team.way, {"task_id": "t1", "agent": "ben", "namespace": NAMESPACE}

        async def stalled(target: str, body: dict[str, Any]) -> SignedRequest:
            way.stalls = True
            assert (await team.b.ask(target, body)).json()["reason"] == "OWNER_UNREACHABLE"
            way.stalls = False
            return way.sent[-1]

        late = await stalled("/v2/claim", {**task, "paths": ["src"]})
        assert (await team.b.ask("/v2/release", task)).json()["reason"] == "NOT_HELD"
        assert (await way.deliver(late)).status == 403 and held(team) == {}
        assert "epoch" in await team.b.claim("t1", "src")
        late = await stalled("/v2/release", task)
        assert "epoch" in await team.b.claim("t1", "src", "docs")
        overtaken = await way.deliver(late)
        assert b"EXPIRED" in overtaken.body and b"task t1 since" in overtaken.body and len(held(team)) == 1
        late = await stalled("/v2/release", task)
        assert (await way.deliver(late)).status == 200 and held(team) == {}

    asyncio.run(play())


def test_the_order_of_requests_is_known_for_as_long_as_they_can_arrive() -> None:
    """Each hub and task for itself; the same one twice is a copy, which its key tells."""
    order = Sequence()
    asked = [("b", "t1", 5, 0.0), ("b", "t1", 4, 1.0), ("c", "t1", 4, 1.0), ("b", "t2", 4, 1.0), ("b", "t1", 5, 2.0)]
    found = [order.overtaken(hub, (NAMESPACE, task), number, now) for hub, task, number, now in asked]
    assert found == [False, True, False, False, False]
    assert not order.overtaken("c", (NAMESPACE, "t9"), 1, 2.0 + FORWARD_DOUBT_SECONDS) and len(order) == 1


def test_two_journals_that_speak_for_one_hub_are_noticed() -> None:
    """A copied home: numbers go up and down. Late ones of one journal, and one that was put back once, are not that."""
    step = FORWARD_DOUBT_SECONDS + 1
    order = Sequence()
    late = [order.forked("b", number, at) for number, at in ((50, 0.0), (48, 5.0), (51, step), (51, 3 * step))]
    put_back = [order.forked("b", number, at) for number, at in ((20, 4 * step), (21, 5 * step), (60, 6 * step))]
    copied = [order.forked("b", number, at) for number, at in ((22, 8 * step), (61, 8 * step), (23, 10 * step))]
    assert (late, put_back, copied) == ([False] * 4, [False] * 3, [True, False, True])
    assert not order.forked("c", 1, 10 * step)
    assert not order.forked("b", 24, 10 * step + 3600)


def test_a_hub_whose_home_was_copied_is_told_so(team: Pair) -> None:
    """The copy, whose journal lies behind: it is refused as long as the other one speaks."""

    async def asks(number: int) -> str:
        request = asking({**CLAIM, "task_id": f"t{number}", "paths": [f"p{number}"]})
        request.headers["synapse-order"] = str(number)
        return await told(team, request, nonce=f"n{number}")

    async def play() -> None:
        assert [await asks(100)] == [""]
        for number, expected in ((50, ""), (101, ""), (51, "NOT_AUTHORISED"), (102, "")):
            team.a.rig.clock.at += FORWARD_DOUBT_SECONDS + 1
            assert await asks(number) == expected, number

    asyncio.run(play())


def test_an_owner_that_cannot_write_its_journal_is_named(team: Pair) -> None:
    """Else whoever hears of it would look at the disk of the wrong machine."""

    async def play() -> None:
        request = asking(CLAIM)
        Signer("b", team.b.identity.key).sign(request, "a", now=WALL, nonce="n")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        try:
            refused = msgspec.json.decode((await team.way.deliver(request)).body)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert refused["reason"] == "JOURNAL_UNAVAILABLE" and refused["detail"].startswith("a says: ")
        assert refused["fix"].startswith("On a: ")

    asyncio.run(play())
