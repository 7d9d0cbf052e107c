"""Teams on a network that fails for minutes: one path, one holder, and no word of the owner counts for too long."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import msgspec
import pytest

from synapse_git.constants import HUB_AGENT, RECEIPT_VALIDITY_SECONDS, REVOCATION_SECONDS
from synapse_hub import hubfile
from tests.box import PROGRAMS
from tests.faults.scale import LONG
from tests.team.hosts import NAMESPACE, Host, heard, until
from tests.team.network import Network, Wired
from tests.team.test_broken_off import LONGEST_S
from tests.team.test_transfer import epochs, owner

ROUNDS = 25
PATHS = ("src/a.py", "docs/guide.md")
MOVES = 10
LETTERS = 15
HARMS = ("none", "unplugged", "lossy", "mute owner", "mute edge", "killed owner", "killed edge")
EXPECTED = {"", "SCOPE_CONFLICT", "OWNER_UNREACHABLE", "HUB_UNREACHABLE", "EXPIRED"}

pytestmark = pytest.mark.skipif(not LONG, reason="minutes: SYNAPSE_FAULTS=long")


def harm(net: Network, hosts: tuple[Host, ...], chance: random.Random) -> str:
    """Something happens to the network or a hub; told is what."""
    kind, victim = chance.choice(HARMS), chance.choice(hosts[1:])
    address = net.address(victim.name)
    match kind:
        case "unplugged":
            net.unplug(victim.name)
        case "lossy":
            net.drop("numgen random mod 100 < 30")
        case "mute owner":
            net.drop(f"ip saddr {net.address('a')} ip daddr {address} ip length > 80")
        case "mute edge":
            net.drop(f"ip saddr {address} ip length > 80")
        case "killed owner" | "killed edge":
            kill(hosts[0] if kind == "killed owner" else victim)
    return f"{kind} {victim.name}"


def kill(host: Host) -> None:
    """End its hub at once; the next command starts another."""
    if pid := host.hub_pid():
        os.kill(pid, signal.SIGKILL)


def heal(net: Network, hosts: tuple[Host, ...]) -> None:
    net.drop()
    for host in hosts:
        net.plug(host.name)


def reason(host: Host, *arguments: str) -> str:
    """Why the host's agent was refused, '' if it was not."""
    ended = host.synapse(*arguments, "--json", agent=host.name)
    assert ended.code in (0, 1, 3), ended.text
    return str(json.loads(ended.out).get("reason", ""))


def claim(host: Host, path: str, number: int) -> str:
    return reason(host, "claim", path, "-t", f"{host.name}{number}")


def released(host: Host, number: int) -> bool:
    return reason(host, "release", "-t", f"{host.name}{number}") in ("", "NOT_HELD")


def covered(host: Host, path: str) -> bool:
    """Would a commit of ``path`` go in as the work of who holds it?"""
    return host.synapse("check", path, agent=host.name).code == 0


def uncovered(host: Host, path: str) -> bool:
    return not covered(host, path)


def effects(host: Host) -> Counter[str]:
    """How often each task was granted and each key answered, by the host's journal."""
    with closing(sqlite3.connect(f"file:{host.state / 'journal.db'}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT body FROM events").fetchall()
    events = [json.loads(body) for (body,) in rows]
    granted = [event["claim"]["task_id"] for event in events if event["kind"] == "claim_granted"]
    return Counter([*granted, *(event["key"] for event in events if event["kind"] == "command_answered")])


def strict(hosts: tuple[Host, ...]) -> None:
    """What nobody claimed is refused from now on."""
    for host in hosts:
        host.done("git", "config", "synapse.guard.unclaimed", "refuse")


@pytest.mark.parametrize("wired", ["abc"], indirect=True)
def test_inv_mh_1_one_path_has_one_holder_whatever_fails(wired: Wired) -> None:
    """All three want it again and again while links, packets and hubs fail: no two may commit it, all is done once."""
    net, hosts = wired
    strict(hosts)
    chance, told = random.Random(11), list[str]()
    with ThreadPoolExecutor(3) as pool:
        for number in range(ROUNDS):
            path = chance.choice(PATHS)
            asked = [pool.submit(claim, host, path, number) for host in hosts]
            time.sleep(chance.uniform(0, 0.4))
            told.append(harm(net, hosts, chance))
            reasons = [one.result() for one in asked]
            assert set(reasons) <= EXPECTED and reasons.count("") <= 1, (told, reasons)
            assert sum([covered(host, path) for host in hosts]) <= 1, told
            heal(net, hosts)
            for host in hosts:
                until(partial(released, host, number), 40)
            for host in hosts:
                until(partial(uncovered, host, path), 40)
    done = effects(hosts[0])
    assert done and max(done.values()) == 1, done


def test_inv_mh_2_a_receipt_counts_for_its_minute_and_no_longer(wired: Wired) -> None:
    """Cut off at once, its holder commits for a minute; who takes the path away gets it when that is over."""
    net, (a, b) = wired
    strict(wired.hosts)
    before = time.monotonic()
    assert claim(b, "src/a.py", 1) == ""
    after = time.monotonic()
    net.unplug("b")
    forced = ("release", "-t", "b1", "--force", "--reason", "urgent")
    assert reason(a, *forced) == ""
    last = after
    while reason(a, "claim", "src/a.py", "-t", "mine") == "SCOPE_CONFLICT":
        asked = time.monotonic()
        last = asked if covered(b, "src/a.py") else last
        assert asked < after + REVOCATION_SECONDS + 5
    assert uncovered(b, "src/a.py")
    assert last - before > RECEIPT_VALIDITY_SECONDS - 3 and last - after < RECEIPT_VALIDITY_SECONDS
    net.plug("b")
    until(lambda: claim(b, "src", 2) == "SCOPE_CONFLICT")
    assert b.commit("src/a.py", "b").code == 1


def test_inv_cr_4_an_owner_that_was_taken_for_dead_comes_back(wired: Wired) -> None:
    """The link heals after the other took over: both hear of it, nobody grants, and one of them gives way."""
    net, (a, b) = wired
    strict(wired.hosts)
    until(lambda: follows(b))
    net.unplug("b")
    taking = ("team", "transfer", NAMESPACE, "b", "--from-dead")
    assert reason(b, *taking) == "LEASE_LIVE"
    until(lambda: reason(b, *taking) == "", 120)
    assert claim(b, "src", 2) == ""
    assert claim(a, "docs", 2) == ""
    net.plug("b")
    for host in (a, b):
        heard(host)
    for host in (a, b):
        until(partial(contested, host), 60)
        assert host.commit("src/a.py", host.name).code == 1
        host.done("git", "reset", "-q", "--hard")
    assert a.synapse("team", "leave", NAMESPACE).code == 0
    until(lambda: claim(b, "docs", 4) == "", 60)


def test_inv_dg_1_letters_wait_for_a_hub_that_fetches_them_whatever_fails(wired: Wired) -> None:
    """The owner knows no address of it: each letter arrives once as long as it waits, and they in their order."""
    net, (a, b) = wired
    forget_address(a, "b")
    chance = random.Random(3)
    for number in range(LETTERS):
        harm(net, wired.hosts, chance)
        sent = a.synapse("send", "--to", "b/b", f"letter {number}", agent="a")
        assert sent.code == 0, sent.text
        time.sleep(chance.uniform(0, 1))
        heal(net, wired.hosts)
    until(partial(has_all, b), 90)


def forget_address(host: Host, peer: str) -> None:
    """Have its hub know the peer as one that does not listen."""
    file = hubfile.read(str(host.state))
    assert file is not None
    peers = {**file.peers, peer: msgspec.structs.replace(file.peers[peer], url="", certificate="")}
    hubfile.write(str(host.state), msgspec.structs.replace(file, peers=peers))
    heard(host)


def has_all(host: Host) -> bool:
    """Do just the letters that were sent wait for its agent?"""
    waiting = host.synapse("inbox", "--json", agent=host.name).json()["messages"]
    bodies = [one["body"] for one in waiting if one["to"] and one["sender"] != HUB_AGENT]
    assert bodies == sorted(set(bodies), key=lambda body: int(body.split()[1])), bodies
    return len(bodies) == LETTERS


def follows(host: Host) -> bool:
    """Does it hear of what its peers grant?"""
    peers = host.synapse("team", "status", "--json").json()["peers"]
    return all(peer["standing"] == "following" for peer in peers)


def contested(host: Host) -> bool:
    return claim(host, "docs/guide.md", 3) == "CONTESTED"


def test_inv_mh_1_a_transfer_that_the_network_breaks_off_is_finished_by_typing_it_again(wired: Wired) -> None:
    """Wherever the link goes down: one hub grants or none; in the end the heir, and who held something holds it."""
    net, (giver, heir) = wired
    chance = random.Random(5)
    for host in wired.hosts:
        assert claim(host, f"src/{host.name}.py", 0) == ""
    before, broken_off = epochs(giver), 0
    for _ in range(MOVES):
        command = [*giver.within, str(PROGRAMS / "synapse-git"), "team", "transfer", NAMESPACE, heir.name]
        with subprocess.Popen(command, cwd=giver.cwd, env=giver.env, stdout=subprocess.DEVNULL) as begun:
            time.sleep(chance.uniform(0.1, LONGEST_S))
            net.unplug("b")
            assert "" not in [reason(host, "claim", "src", "-t", "all") for host in wired.hosts]
            broken_off += begun.wait(60) != 0
            net.plug("b")
        until(lambda: giver.synapse("team", "transfer", NAMESPACE, heir.name).code == 0, 60)  # noqa: B023 - called at once
        until(lambda: owner(giver) == owner(heir) == heir.name)  # noqa: B023 - called at once
        assert epochs(heir) == before
        giver, heir = heir, giver
    assert broken_off
