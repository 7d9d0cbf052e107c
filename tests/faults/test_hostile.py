"""What no client of ours would send costs the others nothing, and the hub neither memory nor a row."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from synapse_git.constants import MAX_BODY_BYTES
from synapse_git.errors import HubUnreachable
from tests.faults import mutations, tree
from tests.faults.grammar import BODIES, HOSTILE, message
from tests.faults.scale import LONG, times
from tests.faults.served import Served, ask
from tests.faults.tree import breakage

MEGABYTE = 1024
PROTOCOL = "hub/synapse_hub/web/doors/protocol.py"
NO_DEADLINES = breakage(
    "no deadlines",
    (PROTOCOL, "self._deadline = self.loop.call_later(seconds, self._late)", "self._deadline = None"),
)

SPINNING = breakage("spins", ("hub/synapse_hub/web/doors/server.py", 'loop="uvloop"', 'loop="asyncio"'))


def memory(pid: int, what: str = "VmRSS") -> int:
    """Resident, in KB, now or (VmHWM) at most so far."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1])


def seq(hub: Served) -> int:
    with hub.line(10.0) as line:
        return int(ask(line, "/v2/claims")["seq"])


def sent(path: str, raw: bytes, patience_s: float = 10.0) -> bytes:
    """What came back until the hub closed. A hub that cuts the connection meanwhile gives b''."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(patience_s)
        line.connect(path)
        with suppress(BrokenPipeError, ConnectionResetError):
            line.sendall(raw)
        reply = b""
        with suppress(ConnectionResetError):
            while more := line.recv(65536):
                reply += more
        return reply


@contextmanager
def others(hub: Served) -> Iterator[list[float]]:
    """Another client at work meanwhile; how long each of its requests took. It must never be turned away."""
    took: list[float] = []
    broken: list[Exception] = []
    stop = threading.Event()

    def work() -> None:
        try:
            with hub.line(600.0) as line:
                while not stop.wait(0.01):
                    begun = time.monotonic()
                    assert ask(line, "/v2/claims")["http"] == 200
                    took.append(time.monotonic() - begun)
        except (OSError, HubUnreachable, AssertionError) as error:
            broken.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield took
    finally:
        stop.set()
        thread.join(30)
    assert not broken and took


@contextmanager
def untouched(hub: Served) -> Iterator[None]:
    """Nothing is written meanwhile, and little memory taken, be it for a moment."""
    sent(hub.path(), message("POST", "/v2/claim", b" " * MAX_BODY_BYTES))
    before, rows = memory(hub.pid), seq(hub)
    yield
    assert seq(hub) == rows
    assert memory(hub.pid, "VmHWM") - before <= 16 * MEGABYTE


def test_malformed_requests_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    """No 5xx but 503, whatever is wrong with them."""
    with Served(tmp_path) as hub:
        path = hub.path()

        @settings(
            max_examples=times(1000, 20_000), deadline=None, database=None, derandomize=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )  # fmt: skip
        @given(HOSTILE)
        def send(raw: bytes) -> None:
            reply = sent(path, raw)
            status = reply[9:12]
            assert not status.startswith(b"5") or status == b"503", reply[:300]

        with hub.line(10.0) as line:
            assert ask(line, "/v2/claim", BODIES["/v2/claim"])["http"] == 200
        with untouched(hub), others(hub):
            send()


def large_bodies(hub: Served, rounds: int = 3) -> None:
    """Forty times the cap, in chunks, so that no length gives them away."""
    piece = b"fffff\r\n" + b" " * 0xFFFFF + b"\r\n"
    head = b"POST /v2/claim HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nConnection: close\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    for _ in range(rounds):
        sent(hub.path(), head + piece * 40 + b"0\r\n\r\n")


def test_large_bodies_keep_no_memory(tmp_path: Path) -> None:
    """Refused as soon as they are over the cap."""
    with Served(tmp_path) as hub, untouched(hub), others(hub):
        large_bodies(hub)


def test_a_hub_without_a_cap_is_caught(tmp_path: Path) -> None:
    """It takes what it is given."""
    with tree.copy(mutations.named("a body may be any size")) as root, Served(tmp_path, root) as hub:
        with pytest.raises(AssertionError), untouched(hub):
            large_bodies(hub)


def dripped(hub: Served, connections: int, seconds: float) -> int:
    """A byte now and then on each of many connections; how many the hub had not cut by the end."""
    with ExitStack() as stack:
        lines = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(connections)]
        for line in lines:
            line.connect(hub.path())
            line.send(b"GET /v2/health HTTP/1.1\r\nX-Slow: ")
        end = time.monotonic() + seconds
        alive = lines
        while alive and time.monotonic() < end:
            alive = [line for line in alive if _dripped(line)]
            time.sleep(0.2)
        return len(alive)


def _dripped(line: socket.socket) -> bool:
    try:
        return line.send(b"G") == 1
    except OSError:
        return False


def test_dripping_clients_are_cut_and_others_served(tmp_path: Path) -> None:
    """Four hundred of them, each with a byte every fifth of a second."""
    with Served(tmp_path) as hub, untouched(hub), others(hub):
        assert dripped(hub, 400, 6.0) == 0


def test_a_hub_without_deadlines_is_caught(tmp_path: Path) -> None:
    """There they stay."""
    with tree.copy(NO_DEADLINES) as root, Served(tmp_path, root) as hub:
        assert dripped(hub, 20, 3.0) == 20


@pytest.mark.skipif(not LONG, reason="wants ten thousand descriptors; run by nox -s faults")
def test_ten_thousand_idle_connections_cost_the_others_nothing(tmp_path: Path) -> None:
    """They are cut in time, and what they cost is given back or small."""
    many = 10_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = many + 200 + len(os.listdir("/proc/self/fd"))
    if 0 < hard < wanted:
        pytest.skip(f"only {hard} descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    with Served(tmp_path) as hub, others(hub), ExitStack() as stack:
        before = memory(hub.pid)
        lines = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(many)]
        for line in lines:
            line.connect(hub.path())  # waits while the hub has not yet taken those before
            line.settimeout(10)
        time.sleep(3)
        assert all(line.recv(1) == b"" for line in lines)
        # One costs some 3 KB while it is there, which the allocator may keep for the next.
        assert memory(hub.pid) - before <= 64 * MEGABYTE
        assert seq(hub) == 0


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def crowded(hub: Served, seconds: float = 1.5) -> int:
    """How many bytes the hub logs while more knock than it has descriptors for."""
    with ExitStack() as stack:
        for _ in range(120):
            extra = stack.enter_context(socket.socket(socket.AF_UNIX))
            extra.settimeout(0.2)
            with suppress(OSError):
                extra.connect(hub.path())
        time.sleep(seconds)
    return (hub.state / "test.log").stat().st_size


def test_a_hub_without_descriptors_does_not_spin(tmp_path: Path) -> None:
    """Whoever cannot be let in costs neither the processor nor the log anything while waiting."""
    with Served(tmp_path, prepare=few_descriptors) as hub:
        assert crowded(hub) < 10_000


def test_a_hub_that_spins_without_descriptors_is_caught(tmp_path: Path) -> None:
    """On the event loop of the standard library it tries again and again, and says so each time."""
    with tree.copy(SPINNING) as root, Served(tmp_path, root, prepare=few_descriptors) as hub:
        assert crowded(hub) > 100_000


def test_a_hub_without_descriptors_recovers(tmp_path: Path) -> None:
    """Newcomers are turned away while none is left; nothing is lost, and afterwards all is as before."""
    with Served(tmp_path, prepare=few_descriptors) as hub, hub.line(30.0) as kept:
        body = {"task_id": "t1", "agent": "ana", "worktree": "wt:1", "paths": ["a"]}
        assert ask(kept, "/v2/claim", body)["http"] == 200
        with ExitStack() as stack:
            for _ in range(120):
                extra = stack.enter_context(socket.socket(socket.AF_UNIX))
                extra.settimeout(0.5)
                with suppress(OSError):
                    extra.connect(hub.path())
            with suppress(HubUnreachable):  # it may have been turned away with them
                assert ask(kept, "/v2/claim", body | {"task_id": "t2", "paths": ["b"]})["http"] in (200, 503)
        deadline = time.monotonic() + 10
        while True:
            try:
                with hub.line(2.0) as line:
                    answer = ask(line, "/v2/claim", body | {"task_id": "t3", "paths": ["c"]})
                    break
            except (OSError, HubUnreachable):
                assert time.monotonic() < deadline, "it does not recover"
                time.sleep(0.05)
        assert answer["http"] == 200
        with hub.line(2.0) as line:
            assert {one["task_id"] for one in ask(line, "/v2/claims")["claims"]} >= {"t1", "t3"}
