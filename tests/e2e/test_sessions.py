"""Sessions over a real socket: who has a name, what is said and heard, and who is cut."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from synapse_git.constants import IDENTITY_CLOSE_CODE, MIN_SECRET_CHARACTERS, NAME_OWNED_CLOSE_CODE
from tests.faults.served import JSON, Served, ask

_PATIENCE_S = 10.0


class Voice:
    """A client's end of a session."""

    def __init__(self, hub: Served) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(hub.path())
        self._open = ExitStack()

    def __enter__(self) -> Self:
        opened = connect("ws://hub/v2/session", sock=self.socket, compression=None, ping_interval=None)
        self._connection = self._open.enter_context(opened)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def say(self, kind: str, **members: Any) -> None:
        self._connection.send(json.dumps({"type": kind, **members}))

    def send(self, raw: str | bytes) -> None:
        self._connection.send(raw)

    def hear(self, kind: str) -> dict[str, Any]:
        """The next frame, which is one of ``kind``."""
        frame: dict[str, Any] = json.loads(self._connection.recv(timeout=_PATIENCE_S))
        assert frame["type"] == kind, frame
        return frame

    def register(self, agent: str, **members: Any) -> dict[str, Any]:
        self.say("register", agent=agent, **members)
        return self.hear("welcome")

    def code(self) -> int:
        """How the hub closes, whatever it says before; 0 for a connection that is just gone."""
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                self._connection.recv(timeout=_PATIENCE_S)
        return closed.value.rcvd.code if closed.value.rcvd else 0


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all tests here that do not kill it: each uses names of its own."""
    with Served(tmp_path_factory.mktemp("sessions")) as served:
        yield served


def post(hub: Served, target: str, body: dict[str, Any], secret: str = "") -> dict[str, Any]:
    headers = [JSON, *([("Synapse-Session", secret)] if secret else [])]
    with hub.line(_PATIENCE_S) as line:
        answer = line.ask("POST", target, headers, json.dumps(body).encode())
    return {"http": answer.status, **json.loads(answer.body)}


def claimed(hub: Served, agent: str, secret: str = "") -> str:
    """What comes of a claim under that name: its owner, or the reason against it."""
    body = {"task_id": agent, "agent": agent, "worktree": f"wt:{agent}", "paths": ["src"]}
    answer = post(hub, "/v2/claim", body, secret)
    return str(answer.get("owner") or answer["reason"])


def test_a_bound_name_is_for_who_has_the_secret(hub: Served) -> None:
    """Claims and messages from elsewhere are NAME_OWNED, and free again once the session gave the name up."""
    with Voice(hub) as ana:
        secret = ana.register("ana1")["secret"]
        assert len(secret) >= MIN_SECRET_CHARACTERS
        assert claimed(hub, "ana1") == claimed(hub, "ana1", "x" * 40) == "NAME_OWNED"
        assert claimed(hub, "ana1", secret) == "ana1"
        assert post(hub, "/v2/messages", {"agent": "ana1", "body": "hi"})["reason"] == "NAME_OWNED"
        ana.say("release")
        assert ana.code() == 1000
    assert claimed(hub, "ana1") == "ana1"


def test_another_session_is_turned_away_and_the_same_one_comes_back(hub: Served) -> None:
    """4016 without the secret, while it is connected and after; with it the name is there again."""
    with Voice(hub) as ana:
        secret = ana.register("ana2")["secret"]
        with Voice(hub) as eve:
            eve.say("register", agent="ana2")
            assert eve.hear("refused")["reason"] == "NAME_OWNED" and eve.code() == NAME_OWNED_CLOSE_CODE
        with Voice(hub) as other:
            assert other.register("ana2", secret=secret)["secret"] == secret
    with Voice(hub) as eve:
        eve.say("register", agent="ana2", secret="e" * 40)
        assert eve.code() == NAME_OWNED_CLOSE_CODE
    with Voice(hub) as ana:
        ana.register("ana2", secret=secret)


def test_a_name_survives_the_hub(tmp_path: Path) -> None:
    """kill -9 binds no name to anybody else, and the hub knows only a digest of the secret."""
    with Served(tmp_path) as hub:
        with Voice(hub) as ana:
            secret = ana.register("ana")["secret"]
        hub.kill()
        hub.start()
        assert claimed(hub, "ana") == "NAME_OWNED"
        with Voice(hub) as ana:
            ana.register("ana", secret=secret)
        for kept in hub.state.iterdir():
            assert kept.is_dir() or secret.encode() not in kept.read_bytes(), kept


def signed(voice: Voice, agent: str, key: Ed25519PrivateKey, by: Ed25519PrivateKey | None = None) -> None:
    """Register with ``key`` and answer the challenge, with the signature of ``by`` where that is another."""
    voice.say("register", agent=agent, key=base64.b64encode(key.public_key().public_bytes_raw()).decode())
    challenge = voice.hear("challenge")
    lines = ("synapse-git session", challenge["hub_id"], agent, challenge["nonce"])
    signature = (by or key).sign("\n".join(lines).encode())
    voice.say("prove", signature=base64.b64encode(signature).decode())


def test_a_key_is_pinned_at_first_use(hub: Served) -> None:
    """4013 for another key, for none, and for a signature by another; a name that was taken back takes a new key."""
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    with Voice(hub) as eve:
        signed(eve, "ana3", key, by=other)
        assert eve.hear("refused")["reason"] == "NOT_AUTHORISED" and eve.code() == IDENTITY_CLOSE_CODE
    with Voice(hub) as ana:
        signed(ana, "ana3", key)
        ana.hear("welcome")
        ana.say("release")
        assert ana.code() == 1000
    with Voice(hub) as eve:
        signed(eve, "ana3", other)
        assert eve.code() == IDENTITY_CLOSE_CODE
    with Voice(hub) as eve:
        eve.say("register", agent="ana3")
        assert eve.code() == IDENTITY_CLOSE_CODE
    assert post(hub, "/v2/names/reclaim", {"agent": "ana3"})["http"] == 200
    with Voice(hub) as ana:
        signed(ana, "ana3", other)
        ana.hear("welcome")


def test_a_name_that_is_taken_back_ends_its_session(hub: Served) -> None:
    """Its own user can, and the next one may have it."""
    with Voice(hub) as ana:
        ana.register("ana4")
        assert post(hub, "/v2/names/reclaim", {"agent": "ana4"})["was_connected"] is True
        assert ana.code() == NAME_OWNED_CLOSE_CODE
    with Voice(hub) as ben:
        ben.register("ana4")


def test_inv_dg_1_chat_is_heard_and_echoes_its_id(hub: Served) -> None:
    """By the one it is for, stamped by the hub; a repetition arrives again under the same id."""
    with Voice(hub) as ana, Voice(hub) as ben:
        ana.register("ana5")
        ben.register("ben5")
        for _ in range(2):
            ana.say("chat", to="ben5", body="done?", client_msg_id="m1", client_timestamp=4e9)
            assert ana.hear("sent")["delivered"] is True
            heard = ben.hear("message")
            assert (heard["sender"], heard["body"], heard["client_msg_id"]) == ("ana5", "done?", "m1")
            assert abs(heard["timestamp"] - time.time()) < 3600 and heard["client_timestamp"] == 4e9


def test_inv_dg_3_what_was_missed_is_told_on_return_until_acknowledged(hub: Served) -> None:
    """In the hub's order, from the watermark on, which never falls."""
    for number in range(3):
        told = post(hub, "/v2/messages", {"agent": "ana6", "to": "ben6", "body": f"m{number}"})
        assert told["delivered"] is False
    with Voice(hub) as ben:
        secret = ben.register("ben6")["secret"]
        seqs = [ben.hear("message")["seq"] for _ in range(3)]
        assert seqs == sorted(seqs)
        ben.say("ack", seq=seqs[1])
        assert ben.hear("acked")["pending"] == 1
        ben.say("ack", seq=seqs[0])
        assert ben.hear("acked")["watermark"] == seqs[1]
    with Voice(hub) as ben:
        ben.register("ben6", secret=secret)
        assert ben.hear("message")["body"] == "m2"
    with Voice(hub) as ben:
        ben.register("ben6", secret=secret, since_seq=seqs[2])
        ben.say("presence")
        assert "ben6" in {one["agent"] for one in ben.hear("presence")["agents"]}


def test_what_is_no_frame_is_refused_and_the_session_goes_on(hub: Served) -> None:
    """Binary, malformed, unknown, with fields nobody knows, and a second registration."""
    with Voice(hub) as ana:
        ana.register("ana7")
        for raw in (b"\0", "{", "[]", '{"type": "dance"}', '{"type": "ack", "seq": 1, "x": 2}', "[" * 5000):
            ana.send(raw)
            assert ana.hear("refused")["reason"] == "INVALID_REQUEST"
        ana.say("register", agent="ana7")
        assert ana.hear("refused")["reason"] == "INVALID_REQUEST"
        ana.say("presence")
        ana.hear("presence")


def test_a_session_that_never_says_whose_it_is_is_cut(hub: Served) -> None:
    """After two seconds; so is one that begins with something else."""
    with Voice(hub) as silent, Voice(hub) as rude:
        rude.say("presence")
        assert rude.code() == IDENTITY_CLOSE_CODE
        begun = time.monotonic()
        assert silent.code() == IDENTITY_CLOSE_CODE and time.monotonic() - begun < 8


def test_floods_cost_the_others_nothing(hub: Served) -> None:
    """Who sends without end comes to a stand or is cut, and others are answered all the while."""
    stop = threading.Event()

    def flood() -> None:
        with Voice(hub) as eve, suppress(ConnectionClosed, OSError):
            eve.register(f"eve{threading.get_ident()}")
            eve.socket.settimeout(1.0)
            while not stop.is_set():
                eve.say("presence")

    with ThreadPoolExecutor(3) as crowd:
        flooding = [crowd.submit(flood) for _ in range(3)]
        try:
            with Voice(hub) as ana, hub.line(_PATIENCE_S) as line:
                ana.register("ana8")
                for _ in range(20):
                    assert ask(line, "/v2/claims")["http"] == 200
                    ana.say("presence")
                    ana.hear("presence")
        finally:
            stop.set()
        assert len(flooding) == 3


def test_a_hundred_contend_for_one_name(hub: Served) -> None:
    """At any time one session has it; each gives it up for the next one, until one of them is gone without a word."""
    # Each turn is two syncs of the disk, one after the other, however long those take.
    held, most, taken, enough, turns = 0, 0, 0, 20, threading.Lock()

    def contend(_: int) -> bool:
        nonlocal held, most, taken
        with Voice(hub) as voice:
            voice.say("register", agent="one")
            try:
                voice.hear("welcome")
            except AssertionError:
                return voice.code() != NAME_OWNED_CLOSE_CODE
            with turns:
                held, taken = held + 1, taken + 1
                most, last = max(most, held), taken == enough
            time.sleep(0.002)
            with turns:
                held -= 1
            if last:
                voice.socket.shutdown(socket.SHUT_RDWR)
            else:
                voice.say("release")
        return True

    with ThreadPoolExecutor(20) as crowd:
        outcomes = list(crowd.map(contend, range(100)))
    assert any(outcomes) and most == 1 and 1 < taken <= enough
