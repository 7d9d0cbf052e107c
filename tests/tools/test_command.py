"""Files that a shell command names for certain, and nothing that it only may touch."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse_hooks.tools import sweep
from synapse_hooks.tools.command import read, written
from tests.box import Box
from tests.faults import scale

BASH = shutil.which("bash") or ""

READ = [
    ("echo hi > a.txt", ["a.txt"]),
    ("cat x 2>&1 >> 'b c.txt'", ["b c.txt"]),
    ("cmd 2>err.log &>all.log", ["err.log", "all.log"]),
    ("sed -i 's/a/b/' f.py g.py", ["f.py", "g.py"]),
    ("sed -i.bak -e s/a/b/ f.py", ["f.py"]),
    ("sed -Ei -f script f.py", ["f.py"]),
    ("sed -i '' s/a/b/ f.py", ["f.py"]),
    ("sed -n p f.py", []),
    ("rm -rf d *.py e/$X -- -f", ["d", "-f"]),
    ("mv a b", ["a", "b"]),
    ("cp a b", ["b"]),
    ("cp a b dir/", []),
    ("cd sub && rm x", ["sub/x"]),
    ("cd $X; rm x; rm /abs/y", ["/abs/y"]),
    ("if t; then cd sub; fi; rm x", []),
    ("if t; then rm q; fi", ["q"]),
    ("cat > f <<EOF\nrm z\nEOF", ["f"]),
    ("FOO=1 tee -a out log <in", ["out", "log"]),
    ("git add a.py && git rm -q b.py && git mv c.py d.py", ["a.py", "b.py", "c.py", "d.py"]),
    ("git -C sub add z", ["sub/z"]),
    ("git add -A . :/", []),
    ("git checkout a.py", []),
    ("for f in a b; do rm $f; done", []),
    ("(cd x; rm y)", []),
    ("(cd x && rm y) && rm z", ["x/y", "z"]),
    ("{ rm y; } >z 2>e", ["y", "z", "e"]),
    ('echo "$A" > x', ["x"]),
    ('rm "$A" "a b" # c', ["a b"]),
    ("rm `ls`", []),
    ("echo 'not ended > x", []),
    ("cat <x >/dev/null", ["/dev/null"]),
    ("cat <<<word > y", ["y"]),
    ("rm a\\ b", ["a b"]),
    ("touch a\\\nb", ["ab"]),
    ("touch -r ref -d now -mt 2020 new; touch -a old", ["new"]),
    ("mv -t d a; cp -rT a d; cp --parents a/b d", ["a"]),
    ("cp -S .bak a b", ["b"]),
    ("false && cd d; touch y", []),
    ("true && cd d && touch y && cd e && touch z; touch x", ["d/y", "d/e/z"]),
    ("cd d || cd e && touch y", []),
    ("pushd d; touch y", []),
    ("CDPATH=/x cd d; touch y", []),
    ("[[ a > b ]] && touch y", []),
    ('git add a && git commit -m "$(cat <<E\nsay "x > y"\nE\n)"', ["a"]),
    ("echo ${a:->b c} $'\\' > d' `cat > e f`", []),
    ("git restore -s HEAD a && git add -n b", ["a"]),
    ("git checkout -- a && git checkout HEAD~1 -- b && git checkout -b c", ["a", "b"]),
    ("env X=1 rm a; sudo rm b; env -i rm c; nohup cd d; rm e", ["a", "b", "c", "e"]),
    ("perl -MFile::Copy -pe s/a/b/ a; perl -pi -e s/a/b/ b", ["b"]),
    ("truncate -s 0 a; dd if=x of=b; ln -sf x c; patch d <e; patch -p1 <e", ["a", "b", "c", "d"]),
]


@pytest.mark.parametrize(("command", "paths"), READ)
def test_what_is_named_outright_is_read(command: str, paths: list[str], tmp_path: Path) -> None:
    """Plainly quoted names of what is written or removed, relative to where the command goes."""
    assert written(command, str(tmp_path)) == [str(tmp_path / path) for path in paths]


SWEEPING = [
    ("git stash", [("", ":/")]),
    ("git stash push -m x", [("", ":/")]),
    ("git stash push d && git stash push a", [("", "d")]),
    ("git stash list; git stash show", []),
    ("git reset --hard HEAD~1; git reset; git reset --soft HEAD", [("", ":/")]),
    ("git checkout . && git checkout main", [("", ".")]),
    ("git checkout -f main; git switch -f main", [("", ":/"), ("", ":/")]),
    ("git restore d; git restore --staged d", [("", "d")]),
    ("git clean -fd; git clean -n; git clean -fdn", [("", ".")]),
    ("cd d && git clean -f e", [("/d", "e")]),
    ("git checkout -- *.c; git checkout -- '*.py'", [("", "*.py")]),
    ("git -C d stash", [("/d", ":/")]),
    ("cd $X; git stash", []),
]


@pytest.mark.parametrize(("command", "sweeps"), SWEEPING)
def test_what_git_throws_away_below_a_directory_is_seen(
    command: str, sweeps: list[tuple[str, str]], tmp_path: Path
) -> None:
    """A command that names a tree, or none, where all changes in it go."""
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "a").touch()
    found = read(command, str(tmp_path))[1]
    seen = [(one.cwd.removeprefix(str(tmp_path)), one.spec) for one in found if isinstance(one, sweep.Sweep)]
    assert seen == sweeps


def test_a_pattern_stands_for_what_fits_it(tmp_path: Path) -> None:
    """As the shell has it: not what is hidden, quoted, or deeper down."""
    (tmp_path / "d").mkdir()
    for name in ("a.py", "b.py", "c", ".h.py", "d/e.py"):
        (tmp_path / name).touch()
    for command, names in (("rm *.py", ["a.py", "b.py"]), ("rm '*'.py *$X", ["*.py"]), ("rm -f d/?.py", ["d/e.py"])):
        assert written(command, str(tmp_path)) == [str(tmp_path / name) for name in names], command


def test_git_tells_what_would_go(box: Box, repo: Path) -> None:
    """Changes for a reset, unknown files for a clean; nothing outside what was named."""
    box.write("src/a.py", cwd=repo)
    box.write("docs/new", cwd=repo)

    def gone(command: str) -> list[str]:
        found = sweep.swept(read(command, str(repo / "src"))[1], box.env)
        return [os.path.relpath(path, repo) for path in found]

    assert gone("git reset --hard") == gone("git checkout .") == ["src/a.py"]
    assert gone("cd .. && git clean -f") == ["docs/new"]
    assert gone("git clean -f") == []


def test_git_tells_what_a_stash_brings_back(box: Box, repo: Path) -> None:
    """Its changes, and the files that were unknown to Git; of a stash that is not there nothing."""
    box.write("src/a.py", cwd=repo)
    box.write("docs/new", cwd=repo)
    box.done("git", "stash", "-q", "--include-untracked", cwd=repo)
    box.write("src/b.py", cwd=repo)
    box.done("git", "stash", "-q", cwd=repo)

    def brought(command: str) -> list[str]:
        found = sweep.swept(read(command, str(repo))[1], box.env)
        return sorted(os.path.relpath(path, repo) for path in found)

    assert brought("git stash pop") == brought("git stash apply --index 0") == ["src/b.py"]
    assert brought("git stash apply 'stash@{1}'") == brought("git stash pop -q stash@{1}") == ["docs/new", "src/a.py"]
    assert brought("git stash pop 2") == brought("git stash pop $X") == brought("git stash pop main") == []


def test_git_tells_whose_stash_would_go(box: Box, repo: Path) -> None:
    """Worktrees share their stashes: what is popped or dropped here goes from where it was put aside."""
    linked = repo.parent / "linked"
    box.done("git", "worktree", "add", "-q", str(linked), "-b", "side", cwd=repo)
    box.done("git", "config", "log.date", "iso", cwd=repo)
    for path, message in (("src/a.py", ()), ("docs/guide.md", ("-m", "On side: no"))):
        box.write(path, cwd=repo)
        box.done("git", "stash", "push", "-q", *message, cwd=repo)

    def touched(command: str) -> list[str]:
        found = sweep.swept(read(command, str(linked / "src"))[1], box.env)
        return sorted(os.path.relpath(path, repo) for path in found)

    assert touched("git stash drop 1") == ["src/a.py"]
    assert touched("git stash clear") == ["docs/guide.md", "src/a.py"]
    assert touched("git stash apply 1") == ["../linked/src/a.py"]
    assert touched("git stash pop") == ["../linked/docs/guide.md", "docs/guide.md"]
    assert touched("git stash drop 2") == touched("git stash drop $X") == []


def test_a_copy_into_a_directory_writes_in_it(tmp_path: Path) -> None:
    """The name of a directory stands for the file that will lie in it."""
    (tmp_path / "d").mkdir()
    assert written("cp x/a b d; mv c d", str(tmp_path)) == [str(tmp_path / path) for path in ("d/a", "d/b", "c", "d/c")]


@given(st.text(alphabet="rm >|&;'\"\\$ab\n<(){}=-", max_size=40))
def test_any_text_is_read_to_its_end(command: str) -> None:
    """No command, however broken, does more than name nothing."""
    assert all(path.startswith("/") for path in written(command, "/r"))


PIECES = [
    *("a", "b", "c", " ", " ", "\n", ";", "&&", "|", ">", ">>", "<", "2>", "#", "d/", "f ", "touch ", "echo ", "tee "),
    *("cd d ", "true", "'a b'", '"a b"', "\\ ", "\\\\", "\\\n", '"a\'b"', "''", "$'a\\'b'", "${u:-a > b}", "`echo a`"),
    *(
        '"$(echo "a" > c)"',
        "{a,b}",
        "*",
        "$u",
        "[[ a > b ]]",
        "<<<",
        "(",
        ")",
        "{ ",
        "; }",
        "<<E\n",
        "<<'E' ",
        "\nE\n",
        "bash -c ",
        ">& ",
        "env -i ",
        "exit;",
        "((",
        "ln -s ",
        "sh -c 'touch a' ",
        "${u}",
        '"\\"a"',
        "pushd d ",
        "cp f ",
        "mv f ",
        "-t d ",
        "-r f ",
    ),
]


@pytest.mark.skipif(not BASH, reason="the shell that is read like")
@settings(max_examples=scale.times(300, 10_000), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_is_named_is_what_the_shell_writes(command: str) -> None:
    """Quoting, expansions, directories: what bash does without complaint agrees with what was read before."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        (top / "d").mkdir()
        (top / "f").write_text("f")
        os.utime(top / "f", (1, 1))
        named = written(command, scratch)
        if not named:
            return
        ended = subprocess.run(
            [BASH, "-c", command], cwd=top, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
        if ended.returncode or ended.stderr:
            return
        for path in named:
            # All else that is there was made; what `touch -r f` and `>>` write may look as it did.
            untouched = path == f"{scratch}/f" and (top / "f").exists() and (top / "f").stat().st_mtime == 1
            assert not untouched or "-r" in command or ">>" in command, (command, path)
            assert os.path.lexists(path) or "mv " in command, (command, path)
