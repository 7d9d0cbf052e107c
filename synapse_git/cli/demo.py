"""``demo``: the main job, played for real in a scratch repository with its own hub, through the installed programs."""

from __future__ import annotations

import os
import sys

from synapse_git.cli import output
from synapse_git.cli.health import scratch
from synapse_git.cli.verb import Verb
from synapse_git.errors import EXIT_REFUSED, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.cli.call import Call

_PROGRAM = "synapse-git"
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ")
_IDENTITY = "[user]\n\tname = Demo\n\temail = demo@example.invalid\n[init]\n\tdefaultBranch = main\n"
_FILE = "src/api/login.py"

# (who, command line, the refusal that must come or '')
_SCENES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("ana", (_PROGRAM, "install"), ""),
    ("ana", (_PROGRAM, "claim", "-t", "login", "--note", "new login flow", "src/api"), ""),
    ("ben", (_PROGRAM, "check", _FILE), "SCOPE_CONFLICT"),
    ("ben", ("git", "commit", "-q", "-a", "-m", "tidy up"), "SCOPE_CONFLICT"),
    ("ana", (_PROGRAM, "release", "-t", "login"), ""),
    ("ben", ("git", "commit", "-q", "-a", "-m", "tidy up"), ""),
    ("ben", ("git", "log", "--oneline"), ""),
)


def run(call: Call) -> int:
    """Exit 0: all went as it should; 1: something did not, an expected refusal that failed to come above all."""
    programs = _programs()
    with scratch.directory("demo") as place:
        env = _environment(call.env, place, programs)
        try:
            played = _play(call, env, _prepared(place, env))
        finally:
            with scratch.undisturbed():
                scratch.run([f"{programs}/{_PROGRAM}", "hub", "stop"], env, place)
    passed = all(scene["as_expected"] for scene in played) and len(played) == len(_SCENES)
    if call.json:
        output.structure({"passed": passed, "scenes": played})
    elif passed:
        output.result("\nThat is all there is to it. In a repository of yours: synapse-git install")
    else:
        output.result("\nThis did not go as it should. See: synapse-git doctor")
    return 0 if passed else EXIT_REFUSED


def _programs() -> str:
    """The directory of the installed programs."""
    for directory in (os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(sys.argv[0]))):
        if os.access(f"{directory}/{_PROGRAM}", os.X_OK):
            return directory
    raise SynapseError(f"the program {_PROGRAM} is not beside {sys.executable}. Install the package anew")


def _environment(env: Mapping[str, str], place: str, programs: str) -> dict[str, str]:
    """A user's account of its own: nothing of the real one is read or written."""
    kept = {key: env[key] for key in _KEPT if key in env}
    own = {
        "HOME": f"{place}/home",
        "XDG_RUNTIME_DIR": f"{place}/run",
        "XDG_STATE_HOME": f"{place}/home/state",
        "XDG_DATA_HOME": f"{place}/home/data",
        "XDG_CONFIG_HOME": f"{place}/home/config",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": f"{programs}:{env.get('PATH', os.defpath)}",
    }
    return kept | own


def _prepared(place: str, env: Mapping[str, str]) -> str:
    """A repository with a commit, and an edit of ben's in it."""
    root = place + "/shop"
    os.mkdir(env["XDG_RUNTIME_DIR"], 0o700)
    os.makedirs(f"{root}/src/api")
    os.mkdir(env["HOME"])
    _write(f"{env['HOME']}/.gitconfig", _IDENTITY)
    _write(f"{root}/{_FILE}", "def login(): ...\n")
    for argv in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        ended = scratch.run(["git", *argv], env, root)
        if ended.status:
            raise SynapseError(f"git {' '.join(argv)} ended with {ended.status}: {ended.said}")
    _write(f"{root}/{_FILE}", "def login(user): ...\n")
    return root


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _play(call: Call, env: Mapping[str, str], root: str) -> list[dict[str, object]]:
    """Every scene up to the first that goes wrong."""
    if not call.json:
        output.result(f"Ana and Ben share a checkout, {root}. Ben has edited {_FILE}.")
    played: list[dict[str, object]] = []
    for agent, argv, refusal in _SCENES:
        ended = scratch.run(argv, {**env, "SYNAPSE_AGENT": agent}, root)
        expected = refusal in ended.said and ended.status != 0 if refusal else ended.status == 0
        command = " ".join(f"'{word}'" if " " in word else word for word in argv)
        played.append(
            {"agent": agent, "command": command, "status": ended.status, "said": ended.said, "as_expected": expected}
        )
        if not call.json:
            output.result(_shown(agent, command, ended, refusal, expected))
            output.settle()
        if not expected:
            break
    return played


def _shown(agent: str, command: str, ended: scratch.Ended, refusal: str, expected: bool) -> str:
    lines: Sequence[str] = [f"    {line}" for line in ended.said.splitlines()]
    if expected:
        outcome = f"refused: {refusal}" if refusal else "done"
    else:
        outcome = f"WRONG: ended with {ended.status}, expected {f'a refusal, {refusal}' if refusal else 'success'}"
    return "\n".join(["", f"{agent} $ {command}", *lines, f"    → {outcome}"])


VERBS = (
    Verb(
        "demo",
        run,
        summary="See it work in a scratch repository.",
        help="Play the main job for real: a scratch repository with its own hub and Git identity, two agents, a commit "
        "that is refused, a release, the same commit going in. Every command and its outcome is printed; nothing of "
        "yours is touched and nothing is left behind.",
        examples=(("demo", "takes a few seconds"),),
    ),
)
