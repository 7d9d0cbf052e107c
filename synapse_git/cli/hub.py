"""``hub start|stop|status|run``: the one process on this machine that grants claims."""

from __future__ import annotations

import os
import signal
import sys
import time

from synapse_git import address, client, ending, explain, starter
from synapse_git.cli import output
from synapse_git.cli.verb import Verb
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call

_POLL_S = 0.02
# What others build on; the hub tells more.
_TOLD = ("socket", "pid", "version", "hub_id", "seq", "journal")


def start(call: Call) -> int:
    """Exit 0 once the hub can grant, also when it runs already; 3 if it cannot."""
    deadline = time.monotonic() + CLIENT_DEADLINE_SECONDS
    while True:
        health = client.query(call.env, "/v2/health").document
        if health.get("granting", True):
            break
        if time.monotonic() > deadline:
            raise HubUnreachable(f"the hub runs but does not grant yet. Its log: {_log(call.env)}")
        time.sleep(_POLL_S)
    _tell(call, health)
    return 0


def status(call: Call) -> int:
    """Exit 0: it runs and can grant; 3 if it does not run or cannot grant. Starts nothing."""
    line = starter.connect_running(call.env, deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
    if line is None:
        raise _not_running()
    with line:
        try:
            answer = client.health(line)
        except HubUnreachable as error:
            raise HubUnreachable(f"{error}. If it hangs: synapse-git hub stop") from error
        _tell(call, client.settle(answer, call.env).document)
    return 0


def _tell(call: Call, health: Mapping[str, Any]) -> None:
    if call.json:
        output.structure({key: health.get(key) for key in _TOLD})
        return
    team = health.get("team")
    called = f"team: called {team}, see synapse-git team status" if team else f"team: none, so it {explain.ALONE}"
    called = health.get("team_broken") or called
    output.result(
        f"hub {health['hub_id']} is running (pid {health['pid']}, version {health['version']}) and grants\n"
        f"socket {health['socket']}\njournal {health['journal']}, seq {health['seq']}\nlog {_log(call.env)}\n{called}"
    )


def stop(call: Call) -> int:
    """Exit 0: no hub is running any more, or none was. Nothing acknowledged is lost."""
    pid = ending.serving(call.env)
    ended = "nothing"
    if pid:
        ended = "terminated" if ending.end(pid, signal.SIGTERM) else "killed"
        if ended == "killed" and not ending.end(pid, signal.SIGKILL):
            raise HubUnreachable(f"the hub (pid {pid}) does not end, not even when killed")
    if call.json:
        output.structure({"stopped": bool(pid), "pid": pid or None})
    elif not pid:
        output.result("no hub was running")
    else:
        hung = "" if ended == "terminated" else f"; it hung for {explain.span(CLIENT_DEADLINE_SECONDS)} and was killed"
        output.result(f"the hub (pid {pid}) is stopped{hung}. The next command that needs one starts it")
    return 0


def metrics(call: Call) -> int:
    """Exit 0: printed; 3 if no hub runs. Starts nothing."""
    line = starter.connect_running(call.env, deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
    if line is None:
        raise _not_running()
    with line:
        text = client.settle(line.ask("GET", "/v2/metrics"), call.env).raw.decode()
    if call.json:
        output.structure({"metrics": text})
    else:
        output.result(text.rstrip("\n"))
    return 0


def _not_running() -> HubUnreachable:
    return HubUnreachable("no hub is running. Any command that needs one starts it; or: synapse-git hub start")


def run(call: Call) -> int:
    """Become the hub, in the foreground. Comes back only where that fails."""
    output.settle()
    os.execve(sys.executable, [sys.executable, "-I", "-m", "synapse_hub", "run"], dict(call.env))  # noqa: S606 - argv of our own


def _log(env: Mapping[str, str]) -> str:
    return starter.log_file(address.state_dir(env))


VERBS = (
    Verb(
        "hub start",
        start,
        summary="Start the hub; done once it can grant.",
        help="Start the hub unless it runs, and wait until it can grant. Other commands do this by themselves.",
        examples=(("hub start", "and wait until it grants"),),
    ),
    Verb(
        "hub stop",
        stop,
        summary="Stop the hub; claims are kept.",
        help="Stop the hub and wait until it is gone. Claims are kept in its journal; commits in repositories with the "
        "guard start it again.",
        examples=(("hub stop", "before an upgrade, say"),),
    ),
    Verb(
        "hub status",
        status,
        summary="Does it run, where, and can it grant?",
        help="Tell where the hub listens, its process, its journal, and whether it can grant. Starts nothing.",
        examples=(("hub status", "for people"), ("hub status --json", "socket, pid, version, hub_id, seq, journal")),
    ),
    Verb(
        "hub metrics",
        metrics,
        summary="What it holds and does, for Prometheus.",
        help="Print counters and gauges in the text format of Prometheus. Starts nothing.",
        examples=(("hub metrics", "as GET /v2/metrics gives them"),),
    ),
    Verb(
        "hub run",
        run,
        summary="Run the hub in the foreground.",
        help="Run the hub in the foreground until it is interrupted, for service supervisors and for looking at it.",
        examples=(("hub run", "until Ctrl-C"),),
    ),
)
