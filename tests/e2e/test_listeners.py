"""The hub's TCP listeners over real sockets: the token's for this machine, the signed one for other hubs."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from synapse_git.constants import MAX_FRAME_BYTES
from synapse_hub import hubfile
from synapse_hub.federation.identity import Identity
from synapse_hub.federation.signature import SignedRequest, Signer
from synapse_hub.hubfile import HubFile, Peer, Place
from tests.box import Box

PEER = Ed25519PrivateKey.generate()
FREE = Place("127.0.0.1", 0)


def configure(box: Box, file: HubFile) -> HubFile:
    """A started hub with this file; the file as it is then, its ports written down."""
    box.state.mkdir(parents=True, mode=0o700)
    hubfile.write(str(box.state), file)
    box.done("synapse-git", "hub", "start")
    found = hubfile.read(str(box.state))
    assert found is not None
    return found


def exchange(line: http.client.HTTPConnection, method: str, target: str, body: Any = None, **headers: str) -> Any:
    """Status and document; names of headers with ``_`` for ``-``."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    try:
        line.request(method, target, data, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


# ---- loopback ----


@pytest.fixture
def loopback(box: Box) -> Iterator[tuple[Box, int, str]]:
    """A box whose hub listens on a free port, the port, and the token."""
    place = configure(box, HubFile(loopback=FREE)).loopback
    assert place and place.port
    yield box, place.port, (box.state / "token").read_text().strip()


CLAIM = {"task_id": "t", "agent": "ana", "paths": ["src"]}
JSON = "application/json"


def test_the_loopback_listener_serves_the_routes_to_whoever_has_the_token(loopback: tuple[Box, int, str]) -> None:
    """The same routes and the same principal as on the socket; the token is for its user's eyes only."""
    box, port, token = loopback
    assert (box.state / "token").stat().st_mode & 0o777 == 0o600
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    bearer = f"Bearer {token}"
    status, claim = exchange(line, "POST", "/v2/claim", CLAIM, Authorization=bearer, Content_Type=JSON)
    assert status == 200 and claim["owner"] == "ana"
    assert exchange(line, "GET", "/v2/claims", Authorization=bearer)[1]["claims"][0]["task_id"] == "t"
    assert [claim["task_id"] for claim in box.synapse("status", "--json").json()["claims"]] == ["t"]


@pytest.mark.parametrize(
    ("reason", "altered"),
    [
        ("NOT_AUTHORISED", {"Authorization": "Bearer wrong"}),
        ("NOT_AUTHORISED", {"Authorization": ""}),
        ("NOT_AUTHORISED", {"Origin": "http://127.0.0.1"}),
        ("NOT_AUTHORISED", {"Origin": "null"}),
        ("NOT_AUTHORISED", {"Host": "evil.example"}),
        ("NOT_AUTHORISED", {"Host": "127.0.0.1"}),
        ("INVALID_REQUEST", {"Content-Type": "text/plain"}),
        ("INVALID_REQUEST", {"Content-Type": "application/x-www-form-urlencoded"}),
    ],
)
def test_the_loopback_listener_turns_others_away(
    loopback: tuple[Box, int, str], reason: str, altered: dict[str, str]
) -> None:
    """A wrong token, a page in a browser, a name that was bent to this address, a form."""
    _, port, token = loopback
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON} | altered
    status, problem = exchange(line, "POST", "/v2/claim", CLAIM, **headers)
    assert problem["reason"] == reason and status == (403 if reason == "NOT_AUTHORISED" else 400)


def test_a_session_over_loopback_is_for_whoever_has_the_token(loopback: tuple[Box, int, str]) -> None:
    """As on the socket, its bounds included; a page in a browser and whoever has no token get none."""
    _, port, token = loopback
    place, proof = f"ws://127.0.0.1:{port}/v2/session", {"Authorization": f"Bearer {token}"}
    for headers in ({}, {"Authorization": "Bearer x"}, {**proof, "Origin": "http://127.0.0.1"}):
        with pytest.raises(InvalidStatus) as refused, connect(place, additional_headers=headers):
            pass
        assert refused.value.response.status_code == 403
    with connect(place, additional_headers=proof) as session:
        session.send(json.dumps({"type": "register", "agent": "ana"}))
        assert json.loads(session.recv(10))["type"] == "welcome"
        session.send("x" * (MAX_FRAME_BYTES + 1))
        with pytest.raises(ConnectionClosedError):
            session.recv(10)


def test_a_client_reaches_a_hub_by_url(loopback: tuple[Box, int, str]) -> None:
    """``SYNAPSE_HUB=http://127.0.0.1:PORT`` works for the command line and for hooks, with the same token."""
    box, port, _ = loopback
    root = box.init()
    box.env["SYNAPSE_HUB"] = f"http://127.0.0.1:{port}"
    box.done("synapse-git", "install", cwd=root)
    assert box.synapse("claim", "src", "-t", "login", agent="ana", cwd=root).code == 0
    box.write("src/a.py", cwd=root)
    refused = box.git("commit", "-qam", "x", agent="ben", cwd=root)
    assert refused.code == 1 and "SCOPE_CONFLICT" in refused.text


def test_a_client_says_what_is_wrong_with_a_url(box: Box) -> None:
    """Another machine, nobody there, no token: each with what to do."""
    for url, said in (
        ("http://10.0.0.1:80", "through one"),
        ("https://127.0.0.1:80", "http://127.0.0.1:PORT"),
        ("http://127.0.0.1:1", "token"),
    ):
        ended = box.synapse("status", env={"SYNAPSE_HUB": url})
        assert ended.code == 3 and said in ended.err, ended.err


def test_the_port_is_the_same_after_a_restart(loopback: tuple[Box, int, str]) -> None:
    """Port 0 is a free one once; then it is written down."""
    box, port, token = loopback
    box.done("synapse-git", "hub", "stop")
    box.done("synapse-git", "hub", "start")
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    assert exchange(line, "GET", "/v2/health", Authorization=f"Bearer {token}")[0] == 200


def test_a_broken_file_opens_nothing_and_is_told_with_its_line(box: Box) -> None:
    """The hub goes on serving its socket."""
    box.state.mkdir(parents=True, mode=0o700)
    (box.state / "hub.toml").write_text('id = "a"\n\nloopback = "0.0.0.0:80"\n')
    box.done("synapse-git", "hub", "start")
    log = (box.state / "hub.log").read_text()
    assert "hub.toml, line 3: loopback is for this machine only" in log


# ---- peers ----


class Partner:
    """The test as a hub b that the box's hub a knows."""

    def __init__(self, box: Box) -> None:
        public = Identity(PEER, b"", "").public
        found = configure(box, HubFile(id="a", listen=FREE, peers={"b": Peer(key=public)}))
        assert found.listen
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(str(box.state / "certificate.pem"))
        self.port = found.listen.port
        self.line = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)

    def signed(self, nonce: str, *, at: float = 0.0, target: str = "/v2/ping") -> SignedRequest:
        request = SignedRequest("POST", target, {"content-type": JSON, "idempotency-key": "k"}, b"{}")
        Signer("b", PEER).sign(request, "a", now=time.time() + at, nonce=nonce)
        return request

    def send(self, request: SignedRequest) -> Any:
        """200, or the reason of the refusal."""
        status, found = exchange(self.line, request.method, request.target, request.body, **request.headers)
        return found.get("reason", status)


@pytest.fixture
def partner(box: Box) -> Iterator[Partner]:
    """A hub that knows one peer, a second after its start."""
    made = Partner(box)
    time.sleep(1.1)  # what was signed in the very second of a start might be from before it
    yield made


def test_inv_ck_2_over_the_wire(partner: Partner) -> None:
    """Good once; replayed, altered, late, early and unsigned requests are refused by their reasons."""
    good = partner.signed("1")
    assert partner.send(good) == 200
    assert partner.send(good) == "NOT_AUTHORISED"
    altered = partner.signed("2")
    altered.body = b"[]"
    assert partner.send(altered) == "NOT_AUTHORISED"
    keyed = partner.signed("3")
    keyed.headers["idempotency-key"] = "other"
    assert partner.send(keyed) == "NOT_AUTHORISED"
    assert partner.send(partner.signed("4", at=-12)) == "EXPIRED"
    assert partner.send(partner.signed("5", at=+3)) == "EXPIRED"
    assert partner.send(SignedRequest("POST", "/v2/ping", {"content-type": JSON}, b"{}")) == "NOT_AUTHORISED"
    assert partner.send(partner.signed("6")) == 200


def test_inv_ck_2_nothing_from_before_a_restart(box: Box, partner: Partner) -> None:
    """A hub that was restarted has forgotten its nonces, and therefore takes nothing that was signed before."""
    good = partner.signed("1")
    assert partner.send(good) == 200
    box.done("synapse-git", "hub", "stop")
    box.done("synapse-git", "hub", "start")
    partner.line.close()
    assert partner.send(good) == "EXPIRED"


def test_inv_mh_3_a_peer_reaches_only_what_is_meant_for_peers(partner: Partner) -> None:
    """A signature opens no route of this machine's own clients."""
    assert partner.send(partner.signed("1", target="/v2/edits")) == "NOT_AUTHORISED"
    assert partner.send(partner.signed("2", target="/v2/worktrees")) == "NOT_AUTHORISED"


def test_peers_come_by_tls_only(partner: Partner) -> None:
    """Plain HTTP gets no answer there, on whatever address."""
    plain = http.client.HTTPConnection("127.0.0.1", partner.port, timeout=10)
    with pytest.raises((http.client.HTTPException, OSError)):
        exchange(plain, "POST", "/v2/ping", {})


# ---- metrics ----


def test_metrics_tell_what_the_hub_holds_and_did(box: Box) -> None:
    """``hub metrics`` prints what the route gives: each metric with its help and type, then its values."""
    assert box.synapse("hub", "metrics").code == 3
    root = box.init()
    box.done("synapse-git", "claim", "src", "-t", "one", cwd=root)
    assert box.synapse("claim", "src", "-t", "two", agent="ben", cwd=root).code == 1
    assert box.synapse("check", "src", agent="ben", cwd=root).code == 1
    text = box.synapse("hub", "metrics").out
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values["synapse_claims"] == "1" and values["synapse_granting"] == "1"
    assert values['synapse_commands_total{command="TakeClaim"}'] == "1"
    assert values['synapse_refusals_total{reason="SCOPE_CONFLICT"}'] == "1"
    assert values['synapse_verdicts_total{verdict="refuse"}'] == "1"
    assert int(values["synapse_journal_seq"]) > 0 and int(values["synapse_journal_bytes"]) > 0
    assert values['synapse_batch_seconds_bucket{le="+Inf"}'] == values["synapse_batch_seconds_count"] != "0"
    for name in values:
        family = re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", name)
        assert f"# TYPE {family} " in text and f"# HELP {family} " in text


def test_the_file_reads_back_as_written(tmp_path: Path) -> None:
    """And a file with comments that is overwritten is kept beside it."""
    file = HubFile(
        "a", FREE, Place("::1", 7), {"b": Peer("k", "https://h:1", "c")},
        {"acme/api": hubfile.Namespace("a", ("git@x:y",), "worktree", ("b",))},
    )  # fmt: skip
    hubfile.write(str(tmp_path), file)
    assert hubfile.read(str(tmp_path)) == file
    hubfile.write(str(tmp_path), file)
    assert not (tmp_path / "hub.toml.before").exists()
    with (tmp_path / "hub.toml").open("a") as more:
        more.write("# ours\n")
    hubfile.write(str(tmp_path), file)
    assert (tmp_path / "hub.toml.before").read_text().endswith("# ours\n")
    (tmp_path / "hub.toml").write_bytes("\ufeff".encode() + (tmp_path / "hub.toml").read_bytes())
    assert hubfile.read(str(tmp_path)) == file  # as an editor of Windows saves it


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('id = "a"\nlisten = "x"', 2, "HOST:PORT"),
        ("colour = 1", 1, "colour is none of"),
        ('id = "a b"', 1, "id is"),
        ('id = "a"\n[peers.b]\nkey = 1', 3, "str"),
        ('id = "a"\n[peers.b]\nkey = "k"\nport = 1', 4, "port"),
        ('id = "a"\n[peers.b]\nkey = "k"\nurl = "http://x"', 4, "https"),
        ('id = "a"\n[peers.a]\nkey = "k"', 2, "a peer's name"),
        ('id = "a"\n[namespaces."x"]\nowner = "c"', 3, "neither this hub nor"),
        ('id = "a"\n[namespaces."x"]\nowner = "a"\nexclusion = "none"', 4, "exclusion"),
        ('id = "a"\n[namespaces."local:x"]\nowner = "a"', 2, "local:x"),
        ('[namespaces."x"]\nowner = "a"', 0, "needs an id"),
        ("id = ", 0, "TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_named_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    """One message for each mistake, with the way out."""
    (tmp_path / "hub.toml").write_text(text)
    with pytest.raises(hubfile.HubFileBroken) as wrong:
        hubfile.read(str(tmp_path))
    assert said in str(wrong.value) and "Mend it" in str(wrong.value)
    assert not line or f"line {line}:" in str(wrong.value), str(wrong.value)
