"""``python -I -m synapse_hub run [--detach]``: puts the hub together and runs it. The composition root.

``verify``, ``export FILE`` and ``import [FILE]`` work on its journal and print one JSON document.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import uvicorn

from synapse_git import __version__, address
from synapse_git.errors import EXIT_BUG, EXIT_UNREACHABLE, EXIT_USAGE
from synapse_git.starter import log_file
from synapse_hub import spool
from synapse_hub.clock import open_clock
from synapse_hub.core.claim import TreeKey
from synapse_hub.core.state import State
from synapse_hub.federation.team import Team
from synapse_hub.filesystem import refuse_network_disk
from synapse_hub.hub import Hub
from synapse_hub.journal import archive, restart
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.store import StoreError
from synapse_hub.lookout import Lookout
from synapse_hub.web.app import make_app
from synapse_hub.web.desk import Desk
from synapse_hub.web.doors.listening import Listening
from synapse_hub.web.doors.server import serve
from synapse_hub.web.doors.socket import SocketUnavailable, announce, bind, remove

# How long to wait for a hub that is on its way out.
_TAKEOVER_S = 4.0
_LOG_BYTES = 4_000_000

log = logging.getLogger("synapse_hub")


class CannotStart(Exception):
    """Why there will be no hub."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a hub in the foreground, or detached; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    os.umask(0o077)
    state = address.state_dir(os.environ)
    if given[:1] in (["verify"], ["export"], ["import"]):
        return _archive(state, given)
    if given not in (["run"], ["run", "--detach"]):
        sys.stderr.write("usage: python -I -m synapse_hub run [--detach] | verify | export FILE | import [FILE]\n")
        return EXIT_USAGE
    if "--detach" in given:
        _detach(state)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    try:
        _run(state)
    except (CannotStart, JournalBroken, StoreError, SocketUnavailable, OSError) as error:
        log.error("%s", error)
        return EXIT_UNREACHABLE
    except KeyboardInterrupt:
        return 130
    except Exception:
        log.exception("a bug in the hub")
        return EXIT_BUG
    return 0


def _archive(state: str, given: Sequence[str]) -> int:
    """``verify``, ``export FILE``, ``import [FILE]``; the exit status."""
    try:
        match given:
            case ["verify"]:
                document = archive.verify(state)
            case ["export", target]:
                document = archive.export(state, target)
            case ["import"] | ["import", _]:
                os.makedirs(state, mode=0o700, exist_ok=True)
                lock = _lock(state, 0.0)
                document = restart.restart(state, given[1] if len(given) > 1 else "")
                os.close(lock)
            case _:
                raise archive.ArchiveError("usage: verify | export FILE | import [FILE]")
    except (archive.ArchiveError, CannotStart, StoreError, OSError) as error:
        document = {"error": str(error)}
    except Exception as error:
        logging.basicConfig(filename=log_file(state))
        log.exception("a bug in %s", given)
        sys.stdout.write(json.dumps({"error": f"this is a bug: {error}; details are in {log_file(state)}"}) + "\n")
        return EXIT_BUG
    sys.stdout.write(json.dumps(document) + "\n")
    return 1 if "error" in document or document.get("ok") is False else 0


def _detach(state: str) -> None:
    """Leave the starter's session, directory and files; turn a log over that has grown long."""
    with suppress(PermissionError):  # a session leader already
        os.setsid()
    os.chdir("/")
    os.closerange(3, 256)
    path = log_file(state)
    with suppress(OSError):
        if os.path.getsize(path) > _LOG_BYTES:
            os.replace(path, path + ".1")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            os.close(descriptor)


def _run(state: str) -> None:
    os.makedirs(state, mode=0o700, exist_ok=True)
    refuse_network_disk(state)
    lock = _lock(state)
    journal = Journal(state)
    desk, listener = _assembled(state, journal)
    hub, path = desk.hub, desk.socket_path

    def ready() -> None:
        announce(state, path)
        log.info("hub %s %s serves %s from event %d", hub.hub_id[:8], __version__, path, hub.state.seq)

    def round_() -> None:
        if not _stands(lock, state, path):
            return
        spool.ingest(os.path.join(state, "overrides"), hub.transact)
        with suppress(OSError):
            journal.sync_mark()

    try:
        spool.ingest(os.path.join(state, "overrides"), hub.transact)
        app = make_app(desk)
        listening = Listening(state, app, desk)

        async def started(server: uvicorn.Server) -> None:
            await listening.open(server)
            desk.embassy.keep_up()
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, listening.reload)

        serve(app, desk, listener, lookout=Lookout(os.environ, path), started=started, ready=ready, round_=round_)
    finally:
        hub.stop()
        remove(path)
        os.close(lock)
    log.info("hub ended at event %d", hub.state.seq)


def _assembled(state: str, journal: Journal) -> tuple[Desk, socket.socket]:
    """The hub over ``journal`` behind its desk, its writer at work, and the socket that is its address."""
    replayed = _replay(journal)
    desk: Desk
    hub = Hub(
        journal,
        open_clock(state, replayed.last_at),
        state=replayed,
        on_grant=partial(_forget_generations, state),
        on_publish=lambda events: desk.wake(events),
        # What was committed is in the journal; the next client starts another hub.
        on_bug=lambda: os._exit(EXIT_BUG),
    )
    team = Team(hub, state)
    listener, path = bind(state, os.environ)
    desk = Desk(hub, socket_path=path, journal_path=journal.path, team=team)
    hub.start()
    team.load(hub.transact)
    return desk, listener


def _replay(journal: Journal) -> State:
    """The state is a million small immutable objects without cycles. Walking them again and again made a replay of
    100,000 claims seven times slower, so the collector leaves them alone and looks at younger ones only.
    """
    gc.disable()
    replayed = journal.replay()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    gc.enable()
    return replayed


def _forget_generations(state: str, trees: Sequence[TreeKey]) -> None:
    """Something was granted in ``trees``: what hooks judged there before holds no more."""
    for namespace, tree in trees:
        with suppress(OSError):
            os.unlink(address.generation_file(state, namespace, tree))


def _stands(lock: int, state: str, path: str) -> bool:
    """See to it that clients find this hub, unless its directory is gone: another may run on what stands there now."""
    try:
        ours = os.path.samestat(os.fstat(lock), os.stat(os.path.join(state, "hub.lock")))
    except OSError:
        ours = False
    if not ours:
        log.warning("%s is gone from under this hub; ending", state)
        os.kill(os.getpid(), signal.SIGTERM)
    elif address.recorded(state) != path:
        with suppress(OSError):
            announce(state, path)
    return ours


def _lock(state: str, patience_s: float = _TAKEOVER_S) -> int:
    """Be the one hub of this state directory. Raises: CannotStart."""
    descriptor = os.open(os.path.join(state, "hub.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CannotStart(f"another hub runs on {state}. Stop it first: synapse-git hub stop") from None
            time.sleep(0.05)
        else:
            return descriptor


if __name__ == "__main__":
    sys.exit(main())
