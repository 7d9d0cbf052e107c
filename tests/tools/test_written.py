"""What was read off a command before is what it writes when a shell runs it: nothing is named that was not touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse_hooks.tools import sweep
from synapse_hooks.tools.command import read

BASH = shutil.which("bash") or ""
ENV = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
FILES = (
    "a",
    "b",
    "c",
    "with space",
    "it's",
    'quo"te',
    "-dash",
    "d/x",
    "d/y.py",
    "d/e/z.py",
    "d/e/w",
    "src/m.py",
    "src/n.c",
)
PATCH = """\
diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,2 +1,2 @@
--- looks like a name
+++ looks like another
 end of a
--- a/d/x
+++ b/d/x
@@ -1,2 +1,3 @@
 -- looks like a name
+new
 end of d/x
--- /dev/null
+++ b/made
@@ -0,0 +1 @@
+made
"""

# The command, and what it is read to write. What it writes besides is not to be told before.
COMMANDS: list[tuple[str, list[str]]] = [
    # redirections
    ("echo x > a", ["a"]),
    ("echo x >> a", ["a"]),
    ("echo x >| a", ["a"]),
    ("echo x &> new", ["new"]),
    ("echo x &>> new", ["new"]),
    ("echo x >& new", ["new"]),
    ("echo x >new 2>err", ["new", "err"]),
    ("echo x 2>&1 >new", ["new"]),
    ("echo x 1>new 2>&1", ["new"]),
    ("echo x 2>&- >new", ["new"]),
    ("touch >& -new d/x", []),
    ("echo x >& \"a'b\"", []),
    (">new", ["new"]),
    ("> 'with space' echo hi", ["with space"]),
    ("echo x > \"it's\"", ["it's"]),
    ("echo x > 'quo\"te'", ['quo"te']),
    ('echo x > "quo\\"te"', ['quo"te']),
    ("echo x > it\\'s", ["it's"]),
    ("echo x > ne''w", ["new"]),
    ('echo "a > b" > new', ["new"]),
    ("echo 'a > b; rm c'", []),
    ("echo a \\> b", []),
    ("echo x > $HOME/../b || true", []),
    ("X=new; echo x > $X", []),
    ('X=new; echo "${X} > a" > b', ["b"]),
    ("echo x > new # > b", ["new"]),
    ("echo x#y > new", ["new"]),
    ("cat < a > new", ["new"]),
    ("cat <<< 'a > b' > new", ["new"]),
    ("exec 3>new; echo x >&3", ["new"]),
    ("echo x | tee new > b", ["b", "new"]),
    ("echo x | tee -a a b >/dev/null", ["/dev/null", "a", "b"]),
    # here-documents
    ("cat > new <<EOF\nrm a\n> b\nEOF\necho x > c", ["new", "c"]),
    ("cat <<'EOF' > new\n$(rm a)\nEOF\n", ["new"]),
    ("cat <<-EOF > new\n\tx > b\n\tEOF\nrm c", ["new", "c"]),
    ("cat <<A <<B > new\nx\nA\ny > b\nB\nrm c", ["new", "c"]),
    ("bash <<'EOF'\necho x > a\nEOF", ["a"]),
    ("bash <<EOF\necho \\\\> b\nEOF", []),
    ("python3 - <<'EOF' > new\nprint('x > b')\nEOF", ["new"]),
    # groups
    ("(echo x) > a", ["a"]),
    ("(echo x)>a", ["a"]),
    ("( echo x > a; echo y > b )", ["a", "b"]),
    ("{ echo x; echo y; } > a", ["a"]),
    ("{ echo x > a; } 2> err", ["a", "err"]),
    ("(cd d && echo x > x); echo x > a", ["d/x", "a"]),
    ("(cd d; echo x > x) > new", ["d/x", "new"]),
    ("{ cd d; echo x > x; } > new", ["d/x", "new"]),
    ("{ cd d; } ; echo x > x", []),
    ("(cd d; (cd e; rm w); rm x); rm a", ["d/e/w", "d/x", "a"]),
    ("true && (rm a) && { rm b; }", ["a", "b"]),
    ("(exit; rm a); rm b", ["b"]),
    ("! (rm a) || true", ["a"]),
    ("f() { rm a; }; rm b", []),
    ("function f { rm a\n}\nrm b", []),
    ("((a > b)) || true", []),
    ("case x in a) rm a;; esac; rm b", []),
    ("[[ a > b ]] || true", []),
    ("echo { > a; echo } > b", ["a", "b"]),
    ("diff <(echo x) <(echo y) > new || true", []),
    # directories
    ("cd d && rm x", ["d/x"]),
    ("cd d; rm x", ["d/x"]),
    ("cd nowhere 2>err; rm a", ["err"]),
    ("cd d/e/.. && rm x", ["d/x"]),
    ("cd link/.. && rm a", ["a"]),
    ("mkdir -p new && cd new && touch f", ["new/f"]),
    ("cd d | true; rm a", []),
    ("cd d & rm a; wait", []),
    ("pushd d >/dev/null; rm x", ["/dev/null"]),
    ("exit 0; rm a", []),
    ("exec true; rm a", []),
    # words before the command
    ("FOO=1 BAR='x y' touch a", ["a"]),
    ("env FOO=1 rm a", ["a"]),
    ("env -i rm a", ["a"]),
    ("env -u FOO -i X=1 rm a", ["a"]),
    ("env -C d rm x", []),
    ("nice -n 5 rm a", ["a"]),
    ("nice rm a", ["a"]),
    ("timeout 5 rm a", ["a"]),
    ("timeout -k 1 5 rm a", ["a"]),
    ("nohup rm a 2>/dev/null", ["/dev/null", "a"]),
    ("command rm a", ["a"]),
    ("command -v rm a || true", []),
    ("\\rm a; 'rm' b; /bin/rm c", ["a", "b", "c"]),
    ("./rm a 2>/dev/null || true", ["/dev/null"]),
    ("time rm a 2>/dev/null", ["/dev/null", "a"]),
    # shells
    ("bash -c 'rm a'", ["a"]),
    ("bash -c 'cd d && rm x' && rm a", ["d/x", "a"]),
    ("sh -ec \"rm 'with space'\"", ["with space"]),
    ('bash -c "rm $X b"', []),
    ("bash -c 'rm \"$0\"' a", []),
    ("bash -c \"bash -c 'rm a'\"", ["a"]),
    ("cd d; sh -c 'rm x'", ["d/x"]),
    # removing
    ("rm a 'with space' \"it's\"", ["a", "with space", "it's"]),
    ("rm -- -dash", ["-dash"]),
    ("rm ./-dash", ["-dash"]),
    ("rm -r d", ["d"]),
    ("rm -rf d/e", ["d/e"]),
    ("rm d/*.py", ["d/y.py"]),
    ("rm d/'*'.py 2>/dev/null || true", ["/dev/null", "d/*.py"]),
    ("rm {a,b}", []),
    ("rm \"a\"'' b\\\n c", ["a", "b", "c"]),
    ("rm -i a < /dev/null; true", []),
    ("rm --help a >/dev/null", ["/dev/null"]),
    ("unlink a", ["a"]),
    ("for f in a b; do rm $f; done", []),
    ("ls a | xargs rm", []),
    ("find d -delete", ["d"]),
    ("find d -name '*.py' -delete", ["d/e/z.py", "d/y.py"]),
    ("find . -name '*.py' -type f -delete", ["d/e/z.py", "d/y.py", "src/m.py"]),
    ("find d -maxdepth 1 -type f -delete", ["d/x", "d/y.py"]),
    ("find d -name '*.py' -newer a -delete", []),
    ("find d -name '*.py'", []),
    # moving and copying
    ("mv a new", ["a", "new"]),
    ("mv a b d", ["a", "b", "d/a", "d/b"]),
    ("mv d new", ["d", "new"]),
    ("mv d src", ["d", "src/d"]),
    ("mv -t d a", ["a", "d/a"]),
    ("cp -vt d a", []),
    ("cp -td a b", ["d/a", "d/b"]),
    ("cp --target-directory=d -- -dash", ["d/-dash"]),
    ("cp --target-directory d a", ["d/a"]),
    ("cp -t none a || true", []),
    ("cp -t '' a", []),
    ("mv --target-directory= a", []),
    ("cp -t d -t src a", []),
    ("cp a -t", []),
    ("ln -st d ../a || true", []),
    ("ln -s -t d ../a", ["d/a"]),
    ("ln -t d || true", []),
    ("install -t d/e a", ["d/e/a"]),
    ("mv -n a b", []),
    ("mv a link/", ["a", "link/a"]),
    ("cp a b", ["b"]),
    ("cp a b d/", ["d/a", "d/b"]),
    ("cp -n a b", []),
    ("cp -r d new", ["new/x", "new/y.py", "new/e/w", "new/e/z.py"]),
    ("cp -r d src", ["src/d/x", "src/d/y.py", "src/d/e/w", "src/d/e/z.py"]),
    ("cp -a d/. src", ["src/x", "src/y.py", "src/e/w", "src/e/z.py"]),
    ("cp -r d/e/ new", ["new/w", "new/z.py"]),
    ("cp a \"$(echo new)\"", []),
    ("cp a new $UNSET", []),
    ("cp a b $(echo d)", []),
    ("ln -s a new", ["new"]),
    ("ln -sf a b", ["b"]),
    ("ln -s d new", ["new"]),
    ("ln -s ../a d", ["d/a"]),
    ("ln -s d/x", ["x"]),
    ("install -m 600 a new", ["new"]),
    ("install a b d", ["d/a", "d/b"]),
    ("install -d newdir", []),
    # in place
    ("sed -i s/a/b/ a", ["a"]),
    ("sed -i.bak -e s/a/b/ a b", ["a", "b"]),
    ("sed -es/i/j/ a", []),
    ("sed -n -i p a", ["a"]),
    ("sed -Ei 's/(a)/\\1/' a", ["a"]),
    ("sed --in-place --expression=p a", ["a"]),
    ("perl -pi -e 's/a/b/' a", ["a"]),
    ("perl -i -e 'print 1' a", []),
    ("perl -0pi -e 's/a/b/' a", ["a"]),
    ("perl -i.bak -pe 's/a/b/' a b", ["a", "b"]),
    ("truncate -s 3 a", ["a"]),
    ("truncate --size 3 a b", ["a", "b"]),
    ("truncate -c -s 0 nothere", []),
    ("dd if=/dev/null of=a 2>/dev/null", ["/dev/null", "a"]),
    ("dd if=a of='with space' status=none", ["with space"]),
    ("touch -r a new b", ["new", "b"]),
    ("touch -c nothere", []),
    # Git
    ("git add a", ["a"]),
    ("git -c core.quotePath=false add a", ["a"]),
    ("git -C d add x", ["d/x"]),
    ("git -C d -C ../src -c a.b=c rm -qf m.py", ["src/m.py"]),
    ("git --no-pager mv src/m.py new", ["src/m.py", "new"]),
    ("GIT_WORK_TREE=d git add x || true", []),
    ("git --work-tree=d add x", []),
    ("git rm -q --cached src/m.py", ["src/m.py"]),
    ("git apply p.patch", ["a", "d/x", "made"]),
    ("git apply --check p.patch", []),
    ("git apply < p.patch", ["a", "d/x", "made"]),
    ("git -C d apply ../p.patch", []),
    (f"git apply <<'EOF'\n{PATCH}EOF\n", ["a", "d/x", "made"]),
    ("git apply -p2 p.patch || true", []),
    (f"git apply <<'EOF'\n{PATCH.replace('d/x', 'd/none')}EOF\n", []),
    ("patch -sp1 < p.patch", ["a", "d/x", "made"]),
    ("patch -s -p1 -i p.patch", ["a", "d/x", "made"]),
    ("patch -sp1 --dry-run < p.patch", []),
    (f"patch -sp1 <<'EOF' && rm b\n{PATCH}EOF\n", ["a", "d/x", "made", "b"]),
    ("patch -s a < a.patch", ["a"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository, all of which was written long ago."""
    top = tmp_path_factory.mktemp("pattern") / "top"
    subprocess.run(["git", "init", "-q", "--template=", top], env=ENV, check=True)
    for name in FILES:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"-- looks like a name\nend of {name}\n")
    (top / "p.patch").write_text(PATCH)
    (top / "a.patch").write_text(PATCH[: PATCH.index("--- a/d/x")])
    (top / "link").symlink_to("d/e")
    subprocess.run(["git", "add", "src"], cwd=top, env=ENV, check=True)
    for path in top.rglob("*"):
        if ".git" not in path.parts and not path.is_symlink():
            os.utime(path, (1, 1))
    return top


def standing(top: Path) -> dict[str, object]:
    """What is there: each file, and each entry of the index."""
    listed = subprocess.run(["git", "ls-files", "-sz"], cwd=top, env=ENV, capture_output=True, check=True).stdout
    found: dict[str, object] = {}
    for entry in listed.split(b"\0")[:-1]:
        about, _, name = entry.partition(b"\t")
        found[f"{os.fsdecode(name)}\0"] = about
    for path in _files(top):
        seen = path.lstat()
        found[str(path.relative_to(top))] = (seen.st_ino, seen.st_mode, seen.st_size, seen.st_ctime_ns)
    return found


def _files(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (
            Path(folder) / name for name in (*names, *(one for one in folders if (Path(folder) / one).is_symlink()))
        )


@pytest.mark.skipif(not BASH, reason="the shell that is read like")
@pytest.mark.parametrize(("command", "expected"), COMMANDS)
def test_what_is_read_is_what_a_shell_writes(command: str, expected: list[str], pattern: Path, tmp_path: Path) -> None:
    """Each path that was read is one that changed, or a directory above such."""
    top = tmp_path / "top"
    shutil.copytree(pattern, top, symlinks=True)
    named, sweeps = read(command, str(top))
    assert sweep.swept(sweeps, ENV) == []
    relative = [os.path.relpath(path, top) if path.startswith(f"{top}/") else path for path in named]
    assert sorted(relative) == sorted(expected)
    before = standing(top)
    subprocess.run([BASH, "-c", command], cwd=top, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    after = standing(top)
    changed = {name.rstrip("\0") for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    for path in relative:
        real = os.path.relpath(os.path.join(os.path.realpath(os.path.dirname(top / path)), os.path.basename(path)), top)
        outside = path.startswith("/") or "*" in path
        assert outside or any(one == real or one.startswith(f"{real}/") for one in changed), (path, changed)


@pytest.mark.skipif(not BASH, reason="the shell that is read like")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm ~/a", ["a"]),
        ("echo x > ~/new", ["new"]),
        ("cp -t ~/d ~/'with space'", ["d/with space"]),
        ("cd d; cd ~ && rm a", ["a"]),
        ("touch ~/.env", [".env"]),
        ("mkdir venv; cd ~/venv && touch x", ["venv/x"]),
        ("sudo -n touch ~/new || true", []),
        ("bash -c 'touch ~/new'", ["new"]),
        ("bash -c '/usr/bin/env HOME=/nonexistent touch ~/new'", []),
        ("touch '~'", ["~"]),
        ('touch ~"/a"', []),
        ("touch x~ ~root/none/x", []),
        ("HOME=/nonexistent; touch ~/new", []),
        ("env HOME=/nonexistent bash -c 'touch ~/new'", []),
    ],
)
def test_a_tilde_is_read_as_a_shell_reads_it(
    command: str, expected: list[str], pattern: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself or before a slash it is the home directory, unless it is quoted or another home is spoken of."""
    top = tmp_path / "top"
    shutil.copytree(pattern, top, symlinks=True)
    monkeypatch.setenv("HOME", str(top))
    assert sorted(read(command, str(top))[0]) == sorted(str(top / path) for path in expected)
    before = standing(top)
    subprocess.run([BASH, "-c", command], cwd=top, env=ENV | {"HOME": str(top)}, capture_output=True, check=False)
    after = standing(top)
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} >= set(expected)
