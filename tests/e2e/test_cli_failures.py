"""Whatever goes wrong ends in one message and the right exit status, never in a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synapse_git.cli import catalogue
from tests.box import PROGRAMS, Box


@pytest.mark.parametrize("verb", [*catalogue.names(), "hub", ""])
def test_help_of_every_verb_shows_usage_options_and_examples(box: Box, verb: str) -> None:
    """--help and -h are exit 0 on stdout, and every verb has an example that can be typed."""
    words = verb.split()
    ended = box.synapse(*words, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: {' '.join(['synapse-git', *words])} ")
    assert "--json" in ended.out
    assert verb in catalogue.FAMILIES or f"  synapse-git {verb}" in ended.out
    assert box.synapse(*words, "-h").out == ended.out


def test_help_tells_the_story_in_order(box: Box) -> None:
    """Install, claim, commit, release: the first minute stands at the top, then every verb in its group."""
    out = box.synapse("--help").out
    story = [out.index(part) for part in ("install  ", "claim src/api", "git commit", "release -t login")]
    assert story == sorted(story)
    for heading, verbs in catalogue.GROUPS.items():
        assert f"\n{heading}:\n" in out
        assert all(f"\n  {verb}" in out for verb in verbs)


def test_version(box: Box) -> None:
    """--version names the program and its version."""
    from synapse_git import __version__

    assert box.synapse("--version").out == f"synapse-git {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Usage: synapse-git"),
        (["clam", "src"], "Did you mean: synapse-git claim?"),
        (["hub", "strat"], "Did you mean: synapse-git hub start?"),
        (["hub"], "Usage: synapse-git hub"),
        (["xyzzy"], "there is no verb 'xyzzy'"),
        (["claim", "--nonsense"], "--nonsense"),
        (["claim", "-t"], "-t"),
        (["claim", "--ttl", "soon", "src"], "is no length of time"),
        (["release", "--epoch", "x"], "is not a whole number"),
        (["show"], "TASK"),
        (["renew", "stray"], "stray"),
    ],
)
def test_wrong_usage_is_exit_2_with_what_is_wrong(box: Box, words: list[str], said: str) -> None:
    """The mistake is named, and where to read more; nothing is printed on stdout."""
    ended = box.synapse(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "--help" in ended.err


def test_wrong_usage_with_json_is_a_document(box: Box) -> None:
    """A program that asked for JSON gets JSON, whatever is wrong."""
    ended = box.synapse("claim", "--json", "--ttl", "soon", "src")
    assert (ended.code, ended.err) == (2, "")
    assert "no length of time" in ended.json()["detail"]


def test_options_for_every_verb_stand_before_or_after_it(box: Box) -> None:
    """--json, --agent and -C on either side; nearer to the verb counts more."""
    box.cwd = box.init()
    for words in (
        ["--json", "--agent", "ana", "-C", "src", "claim", "-t", "t", "a.py"],
        ["claim", "-t", "t", "a.py", "--json", "--agent", "ana", "-C", "src"],
        ["--agent", "ben", "claim", "-t", "t", "a.py", "--agent", "ana", "--json", "-C", "src"],
    ):
        claim = box.synapse(*words).json()
        assert (claim["owner"], claim["paths"]) == ("ana", ["src/a.py"])


def test_as_a_git_command_it_is_the_same_program(box: Box) -> None:
    """`git synapse` does what `synapse-git` does, and calls itself so."""
    box.cwd = box.init()
    assert box.git("synapse", "claim", "-t", "t", "src", agent="ana").code == 0
    assert box.git("-C", "src", "synapse", "status", "--json").json()["claims"][0]["task_id"] == "t"
    assert box.git("synapse", "clam").err.count("git synapse claim") == 1
    assert box.git("synapse", "-h").out.startswith("Usage: git synapse ")


def test_outside_of_a_repository_is_exit_4(box: Box) -> None:
    """Claims need a checkout; the message says how to name one."""
    for words in (["claim", "src"], ["check", "src"], ["release"], ["install"]):
        ended = box.synapse(*words, cwd=box.home)
        assert ended.code == 4, words
        assert "-C DIR" in ended.err
    assert box.synapse("-C", "nowhere", "claim", "src").code == 4
    assert box.synapse("-C", "nowhere", "status").code == 4
    assert box.synapse("--json", "claim", "src", cwd=box.home).json()["reason"] is None


def test_what_an_error_says_to_type_leads_on(box: Box) -> None:
    """Help of the verb whose option lacks its value, and no error of Python's in the words of ours."""
    assert "More: synapse-git claim --help" in box.synapse("claim", "-t").err
    refused = box.synapse("status", env={"SYNAPSE_HUB": "http://127.0.0.1:1"})
    assert refused.code == 3 and "cannot be read (No such file or directory)" in refused.err
    refused = box.synapse("status", env={"XDG_STATE_HOME": "/proc/nowhere"})
    assert refused.code == 3 and "another place for all your shells: XDG_STATE_HOME" in refused.err


def test_a_bare_repository_is_exit_4(box: Box) -> None:
    """Where there are no files there is nothing to claim."""
    box.done("git", "init", "-q", "--bare", "bare")
    ended = box.synapse("-C", "bare", "claim", "src")
    assert ended.code == 4
    assert "bare" in ended.err and "git worktree add DIR" in ended.err
    box.init()
    box.done("git", "worktree", "add", "-q", "-b", "x", "../a tree", cwd=box.cwd / "repo")
    inside = box.synapse("install", cwd=box.cwd / "repo/.git")
    assert f"cd {box.cwd}/repo or '{box.cwd}/a tree'" in inside.err


def test_inherited_git_variables_are_ignored(box: Box) -> None:
    """GIT_DIR of another repository, as an editor or a hook may leave it behind, leads nowhere."""
    other = box.init("other")
    box.cwd = box.init()
    stray = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": "/nonexistent"}
    assert box.synapse("claim", "-t", "t", "src", agent="ana", env=stray).code == 0
    assert (box.cwd / ".git/synapse").is_dir()
    assert not (other / ".git/synapse").exists()


def test_a_hub_that_cannot_start_is_exit_3(box: Box) -> None:
    """A state directory that is a file: the reason and the way out are named."""
    box.state.parent.mkdir(parents=True)
    box.state.write_text("in the way")
    box.cwd = box.init()
    ended = box.synapse("claim", "src", agent="ana")
    assert ended.code == 3
    assert "HUB_UNREACHABLE" in ended.err
    assert "Traceback" not in ended.text


def test_a_git_that_is_missing_is_exit_4(box: Box) -> None:
    """Without git on PATH the message says so."""
    ended = box.synapse("claim", "src", env={"PATH": "/nonexistent"})
    assert ended.code == 4
    assert "git is not on PATH" in ended.err


def _broken(box: Box, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process where asking Git fails in a way that nobody foresaw."""
    program = (
        "import os, sys\n"
        "from synapse_git import checkout\n"
        "from synapse_git.cli import edge\n"
        "def find(*_): raise RuntimeError('the moon')\n"
        "checkout.find = find\n"
        f"sys.exit(edge.run(['synapse-git', *{words!r}], os.environ))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program], env=box.env, cwd=box.cwd, capture_output=True, text=True, check=False
    )


def test_a_bug_is_one_line_and_a_log(box: Box) -> None:
    """Exit 70, the path of the log, whose mode is 0600 and which holds the traceback."""
    ended = _broken(box, ["claim", "src"])
    log = box.state / "cli.log"
    assert ended.returncode == 70
    assert ended.stderr == f"synapse-git: unexpected RuntimeError: the moon. Details: {log}\n"
    assert ended.stdout == ""
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_bug_whose_log_cannot_be_written_is_still_one_line(box: Box) -> None:
    """No place for a log changes neither the status nor the manners."""
    box.state.parent.mkdir(parents=True)
    box.state.write_text("in the way")
    ended = _broken(box, ["claim", "src"])
    assert ended.returncode == 70
    assert "could not be logged" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("closing", "code"), [(">&-", 74), ("2>&-", 0), (">&- 2>&-", 74), ("<&-", 0)])
def test_with_its_streams_closed_a_command_does_its_work(box: Box, closing: str, code: int) -> None:
    """It says by its exit status that nobody had the answer; where there was none to give, all is as ever."""
    box.cwd = box.init()
    ended = box.run("sh", "-c", f"synapse-git claim -t t src --agent ana {closing}")
    assert ended.code == code
    assert ("cannot be written: Bad file descriptor" in ended.err) == (closing == ">&-")
    held = box.run("sh", "-c", f"synapse-git claim -t t2 src --agent ben {closing}")
    assert held.code == 1


def test_a_terminal_that_knows_ascii_only_is_served(box: Box) -> None:
    """Output that the locale cannot show is escaped instead of failing."""
    box.cwd = box.init()
    # Not by the launcher, which heeds no variable of Python's.
    program = (sys.executable, "-m", "synapse_git")
    ended = box.run(*program, "claim", "-t", "tä", "src/ü", agent="ana", env={"PYTHONIOENCODING": "ascii"})
    assert ended.code == 0
    assert "t\\xe4" in ended.out


def test_the_express_lane_imports_nothing_slow(box: Box) -> None:
    """A claim loads no click, msgspec, rich or subprocess, nor what they stand on."""
    box.cwd = box.init()
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    for words in (["claim", "-t", "t", "src"], ["check", "src"], ["release", "-t", "t"]):
        program = (
            "import atexit, os, sys\n"
            "from synapse_git.cli import edge\n"
            f"status = edge.run(['synapse-git', *{words!r}, '--agent', 'ana'], os.environ)\n"
            "print(*sys.modules, file=sys.stderr)\n"
            "sys.exit(status)\n"
        )
        ended = box.run(sys.executable, "-S", "-c", program, env={"PYTHONPATH": str(Path(__file__).parents[2])})
        assert ended.code == 0, ended.text
        loaded = set(ended.err.split())
        slow = {"click", "msgspec", "rich", "subprocess", "json", "re", "typing", "enum", "socket", "dataclasses"}
        assert not loaded & slow


def test_completion_offers_verbs_tasks_and_files(box: Box) -> None:
    """What a shell asks for at each place: verbs, live tasks of -t, and files."""
    box.cwd = box.init()
    box.done("synapse-git", "claim", "-t", "login", "src", agent="ana")

    def offered(line: str) -> str:
        words = {"_SYNAPSE_GIT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return box.synapse(env=words).out

    assert "claim" in offered("synapse-git cl")
    assert "status" in offered("synapse-git hub st")
    assert "login" in offered("synapse-git release -t ")
    assert "file," in offered("synapse-git claim sr")
    assert "_SYNAPSE_GIT_COMPLETE" in box.synapse(env={"_SYNAPSE_GIT_COMPLETE": "bash_source"}).out


def test_completion_of_tasks_starts_no_hub(box: Box) -> None:
    """A tab key is no reason to start anything."""
    words = {"_SYNAPSE_GIT_COMPLETE": "bash_complete", "COMP_WORDS": "synapse-git show ", "COMP_CWORD": "2"}
    assert box.synapse(env=words).out.strip() == ""
    assert box.hub_pid() == 0


def test_interrupted_is_130_and_quiet(box: Box) -> None:
    """Ctrl-C while the hub does not answer ends at once without a word."""
    import socket
    import time

    path = os.path.join(box.env["XDG_RUNTIME_DIR"], "silent.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen()
        with subprocess.Popen(
            [PROGRAMS / "synapse-git", "status"],
            env=box.env | {"SYNAPSE_HUB": path},
            cwd=box.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as waiting:
            line, _ = listener.accept()
            time.sleep(0.05)
            waiting.send_signal(signal.SIGINT)
            assert waiting.communicate(timeout=5) == (b"", b"")
            assert waiting.returncode == 130
            line.close()


def test_json_failures_are_one_document_each(box: Box) -> None:
    """Every kind of failure is one parseable document with --json."""
    box.cwd = box.init()
    for words in (["claim"], ["claim", "../x"], ["show", "none"], ["hub", "status"], ["release"], ["nonsense"]):
        ended = box.synapse(*words, "--json", agent="ana")
        assert ended.code != 0
        assert isinstance(json.loads(ended.out), dict), words
        box.synapse("hub", "stop")


def test_every_failure_is_a_problem_document(box: Box) -> None:
    """Whatever goes wrong, ``--json`` gives one shape: a reason code or null, and the detail in words."""
    box.cwd = box.init()
    wrong = (
        ["claim"],
        ["claim", "x", "--ttl", "soon"],
        ["frobnicate"],
        ["-C", "/nowhere", "check", "x"],
        ["show", "t"],
    )
    found = [box.synapse("--json", *words) for words in wrong]
    assert [ended.json()["reason"] for ended in found] == [*["INVALID_REQUEST"] * 3, None, "NOT_HELD"]
    assert all(ended.json()["detail"] for ended in found)
    assert [ended.code for ended in found] == [2, 2, 2, 4, 1]


def test_a_question_to_a_hub_that_hangs_has_done_nothing(box: Box) -> None:
    """It is given up sooner than what acts, and nobody is told that something may have been done."""
    box.cwd = box.init()
    assert box.synapse("claim", "src", agent="ana").code == 0
    pid = box.hub_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        ended = box.synapse("check", "src", agent="ben")
        assert ended.code == 3 and "hub stop" in ended.err and "may have been done" not in ended.err, ended.text
        assert time.monotonic() - began < 9
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["release", "login"], "synapse-git release -t login"),
        (["renew", "login"], "synapse-git renew -t login"),
        (["unlock"], "synapse-git release"),
        (["ls"], "synapse-git status"),
        (["start"], "synapse-git hub start"),
        (["hub", "strat"], "synapse-git hub start"),
        (["clam"], "synapse-git claim"),
    ],
)
def test_what_was_meant_is_named(box: Box, words: list[str], hint: str) -> None:
    """A word from another tool, a slip of the pen, a task without its option."""
    ended = box.synapse(*words)
    assert ended.code == 2 and f"Did you mean: {hint}?" in ended.err, ended.text


@pytest.mark.parametrize(
    ("words", "shown"), [([], "Work:"), (["claim"], "Usage: synapse-git claim"), (["hub"], "start")]
)
def test_help_is_a_word_too(box: Box, words: list[str], shown: str) -> None:
    """As with Git itself."""
    ended = box.synapse("help", *words)
    assert ended.code == 0 and shown in ended.out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk without space")
@pytest.mark.parametrize("words", [["status"], ["status", "--json"], ["hub", "status"], ["--version"], ["claim", "-h"]])
def test_an_answer_that_cannot_be_written_is_exit_74(box: Box, words: list[str]) -> None:
    """Said in a line, whether the disk is found to be full as the answer is written or at the end."""
    box.done("synapse-git", "hub", "start")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [PROGRAMS / "synapse-git", *words], env=box.env, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 74 and "cannot be written: No space left" in ended.stderr
    assert not (box.state / "cli.log").exists()
