"""Signed requests: what proves them, for how long, and how often. The clock is an argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# It is documented there, and re-exported without saying so.
from http_message_signatures.algorithms import ED25519  # pyright: ignore[reportPrivateImportUsage]  # public by its documents
from http_message_signatures.resolvers import MappingKeyResolver
from http_message_signatures.signatures import HTTPMessageSigner
from hypothesis import given as drawn
from hypothesis import strategies as st

from synapse_git import constants
from synapse_git.constants import DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS as AHEAD_S
from synapse_git.constants import DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS as WINDOW_S
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation import foreign, form, nonces
from synapse_hub.federation.nonces import Nonces
from synapse_hub.federation.signature import SignedRequest, Signer, verify

KEY = Ed25519PrivateKey.generate()
BODY = b'{"task_id": "t"}'
SIGNED_AT = 1_000_000


def request(at: float = SIGNED_AT, nonce: str = "n", *, to: str = "a", key: Ed25519PrivateKey = KEY) -> SignedRequest:
    """A request that hub b signed for hub a."""
    headers = {"content-type": "application/json", "idempotency-key": "k", "synapse-principal": "uid:1", "host": "x"}
    made = SignedRequest("POST", "/v2/claim?x=1", headers, BODY)
    Signer("b", key).sign(made, to, now=at, nonce=nonce)
    # As they come from the wire.
    made.headers = {name.lower(): value for name, value in made.headers.items()}
    return made


def judge(given: SignedRequest, now: float = SIGNED_AT, *, started: float = 0.0, seen: Nonces | None = None) -> str:
    """Who sent it, else the reason of the refusal."""
    keys = {"b": KEY.public_key()}
    found = verify(given, recipient="a", keys=keys, now=now, started=started, nonces=Nonces() if seen is None else seen)
    return found.reason if isinstance(found, Refusal) else found


@pytest.mark.parametrize(
    ("age", "verdict"),
    [
        (0.0, "b"),
        (WINDOW_S, "b"),
        (WINDOW_S + 0.001, "EXPIRED"),
        (3600.0, "EXPIRED"),
        (-AHEAD_S, "b"),
        (-AHEAD_S - 0.001, "EXPIRED"),
        (-3600.0, "EXPIRED"),
    ],
)
def test_inv_ck_2_both_edges_of_the_window(age: float, verdict: str) -> None:
    """Ten seconds late and one second early pass, a moment more does not."""
    assert judge(request(), SIGNED_AT + age) == verdict


def test_inv_ck_2_what_was_signed_before_the_start_is_expired() -> None:
    """A hub that has just started cannot know whether it was here before; what came later it takes at once."""
    assert judge(request(SIGNED_AT + 0.6), SIGNED_AT + 1, started=SIGNED_AT + 0.5) == "b"
    assert judge(request(SIGNED_AT + 0.4), SIGNED_AT + 1, started=SIGNED_AT + 0.5) == "EXPIRED"
    assert judge(request(), SIGNED_AT + 1, started=SIGNED_AT + 0.5) == "EXPIRED"
    assert judge(request(), SIGNED_AT + 1, started=SIGNED_AT) == "b"


def test_who_started_on_a_clock_that_was_hours_ahead_is_to_be_restarted() -> None:
    """All that is signed by the right time is from before its start, for hours: sending it again is no help."""
    keys = {"b": KEY.public_key()}
    found = verify(request(), recipient="a", keys=keys, now=SIGNED_AT, started=SIGNED_AT + 3600, nonces=Nonces())
    assert isinstance(found, Refusal) and found.reason == "EXPIRED" and "hub stop" in found.fix


def test_inv_ck_2_a_nonce_counts_once_for_as_long_as_the_window_is_open() -> None:
    """At its last instant a replay is still known; other nonces, and the same one of another hub, are their own."""
    seen = Nonces()
    assert judge(request(), seen=seen) == "b"
    assert judge(request(), SIGNED_AT + WINDOW_S, seen=seen) == "NOT_AUTHORISED"
    assert judge(request(nonce="other"), seen=seen) == "b"
    assert not seen.known("c", "n", SIGNED_AT)


def test_inv_ck_2_a_clock_that_is_set_back_makes_no_replay_new() -> None:
    """A nonce may be forgotten when its window is over, and is not let in again if the window seems to open anew."""
    seen = Nonces()
    assert judge(request(), seen=seen) == "b"
    later = SIGNED_AT + WINDOW_S + 100
    assert judge(request(later, "later"), later, seen=seen) == "b"
    assert judge(request(), SIGNED_AT + 1, seen=seen) == "EXPIRED"
    assert judge(request(later - 1, "new"), later - 5, seen=seen) == "EXPIRED"
    assert judge(request(later, "newer"), later, seen=seen) == "b"


def test_nonces_are_forgotten_with_their_window() -> None:
    """What is kept is bounded by what can still come, not by how long the hub runs."""
    seen = Nonces()
    for second in range(100):
        assert seen.remember("b", str(second), SIGNED_AT + second, SIGNED_AT + second)
    assert len(seen) == WINDOW_S + 1


def test_more_requests_than_can_be_told_apart_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the bound nothing is forgotten early and nothing is let in unremembered."""
    monkeypatch.setattr(nonces, "MAX_REMEMBERED_NONCES", 2)
    seen = Nonces()
    assert [judge(request(nonce=str(n)), seen=seen) for n in range(3)] == ["b", "b", "QUOTA_EXCEEDED"]
    assert constants.MAX_REMEMBERED_NONCES == 100_000


def _set(name: str, value: object) -> Callable[[SignedRequest], None]:
    return lambda given: setattr(given, name, value)


def _header(name: str, value: str | None) -> Callable[[SignedRequest], None]:
    def alter(given: SignedRequest) -> None:
        given.headers.pop(name, None)
        if value is not None:
            given.headers[name] = value

    return alter


ALTERATIONS: dict[str, Callable[[SignedRequest], None]] = {
    "method": _set("method", "GET"),
    "path": _set("target", "/v2/release?x=1"),
    "query": _set("target", "/v2/claim?x=2"),
    "body": _set("body", b'{"task_id": "u"}'),
    "body emptied": _set("body", b""),
    "digest": _header("content-digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"),
    "digest gone": _header("content-digest", None),
    "principal": _header("synapse-principal", "uid:2"),
    "principal gone": _header("synapse-principal", None),
    "key": _header("idempotency-key", "other"),
    "content type": _header("content-type", "application/x-synapse-paths"),
    "a header more": _header("synapse-query", "1"),
    "signature gone": _header("signature", None),
    "signature garbled": _header("signature", "hub=:AAAA:"),
    "input gone": _header("signature-input", None),
    "input garbled": _header("signature-input", "hub=(("),
}


@pytest.mark.parametrize("altered", ALTERATIONS)
def test_inv_ck_2_anything_altered_is_refused(altered: str) -> None:
    """Method, target, body, and every header that means something."""
    given = request()
    ALTERATIONS[altered](given)
    assert judge(given) == "NOT_AUTHORISED"


@pytest.mark.parametrize(
    ("name", "value"),
    [("created=1000000", "created=1000001"), ('nonce="000-n"', 'nonce="000-m"'), ('keyid="b"', 'keyid="c"')],
)
def test_inv_ck_2_time_nonce_and_sender_are_covered(name: str, value: str) -> None:
    """What the signature says of itself cannot be altered either."""
    given = request()
    assert name in given.headers["signature-input"]
    given.headers["signature-input"] = given.headers["signature-input"].replace(name, value)
    assert judge(given) == "NOT_AUTHORISED"


def test_inv_ck_2_a_request_is_for_one_hub() -> None:
    """What was signed for another hub proves nothing here, and neither does another's key."""
    assert judge(request(to="c")) == "NOT_AUTHORISED"
    assert judge(request(key=Ed25519PrivateKey.generate())) == "NOT_AUTHORISED"


def test_a_host_name_is_not_covered() -> None:
    """A hub may be reached under several."""
    given = request()
    given.headers["host"] = "another:1"
    assert judge(given) == "b"


def test_two_signatures_are_one_too_many() -> None:
    """Both of the sender, one after the other: which one counts would be anybody's guess."""
    first, second = request(), request(nonce="m")
    for name in ("signature", "signature-input"):
        first.headers[name] += ", " + second.headers[name].replace("hub=", "hub2=", 1)
    assert judge(first) == "NOT_AUTHORISED"


def test_inv_ck_2_the_general_library_proves_what_is_signed_here() -> None:
    """Our own form is RFC 9421: the library reads the same from it as we do."""
    made = request()
    keys = {"b": KEY.public_key()}
    assert form.proved(made, "a", keys) == foreign.proved(made, "a", keys) == form.Proof("b", SIGNED_AT, "000-n")


@pytest.mark.parametrize(
    ("order", "more"), [(1, {}), (-1, {}), (1, {"label": "x"}), (1, {"include_alg": False})], ids=str
)
def test_a_signature_in_another_form_counts_as_well(order: int, more: dict[str, Any]) -> None:
    """Whoever writes parameters and components in an order of its own, or under a label of its own."""
    made = request()
    for name in ("content-digest", "signature-input", "signature"):
        del made.headers[name]
    resolver = MappingKeyResolver(public_keys={}, private_keys={"b": KEY})
    general: dict[str, Any] = {"label": "hub", "covered_component_ids": made.covered()[::order], "body": BODY, **more}
    HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=resolver).sign(
        made, key_id="b", created=datetime.fromtimestamp(SIGNED_AT, UTC), nonce="n", tag="synapse for a", **general
    )
    made.headers = {name.lower(): value for name, value in made.headers.items()}
    ours = order == 1 and not more
    assert (form.proved(made, "a", {"b": KEY.public_key()}) is not None) is ours
    assert judge(made) == "b"


@drawn(
    st.sampled_from(["signature", "signature-input", "content-digest", "content-type", "synapse-principal", "x"]),
    st.integers(0, 300),
    st.integers(0, 3),
    st.text(st.characters(max_codepoint=255), max_size=3),
)
def test_inv_ck_2_nothing_is_proved_that_the_library_does_not_prove(name: str, at: int, gone: int, put: str) -> None:
    """A few characters of a header replaced by others: what is read from it here, the library reads as well."""
    made = request()
    before = made.headers.get(name, "")
    made.headers[name] = before[:at] + put + before[at + gone :]
    keys = {"b": KEY.public_key()}
    if found := form.proved(made, "a", keys):
        assert found == foreign.proved(made, "a", keys)


def test_a_header_that_cannot_be_signed_is_not_sent() -> None:
    """It would arrive as something else."""
    made = SignedRequest("POST", "/v2/claim", {"idempotency-key": "a\r\nb: c"}, BODY)
    with pytest.raises(ValueError, match="cannot be signed"):
        Signer("b", KEY).sign(made, "a", now=SIGNED_AT, nonce="n")
