"""Files that a shell command names for certain, and nothing that it only may touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_hooks.tools.command import written

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
    ("{ rm y; }", []),
    ('echo "$A" > x', ["x"]),
    ('rm "$A" "a b" # c', ["a b"]),
    ("rm `ls`", []),
    ("echo 'not ended > x", []),
    ("cat <x >/dev/null", ["/dev/null"]),
    ("cat <<<word > y", ["y"]),
    ("rm a\\ b", ["a b"]),
]


@pytest.mark.parametrize(("command", "paths"), READ)
def test_what_is_named_outright_is_read(command: str, paths: list[str], tmp_path: Path) -> None:
    """Plainly quoted names of what is written or removed, relative to where the command goes."""
    assert written(command, str(tmp_path)) == [str(tmp_path / path) for path in paths]


def test_a_copy_into_a_directory_writes_in_it(tmp_path: Path) -> None:
    """The name of a directory stands for the file that will lie in it."""
    (tmp_path / "d").mkdir()
    assert written("cp x/a b d; mv c d", str(tmp_path)) == [str(tmp_path / path) for path in ("d/a", "d/b", "c", "d/c")]


@given(st.text(alphabet="rm >|&;'\"\\$ab\n<(){}=-", max_size=40))
def test_any_text_is_read_to_its_end(command: str) -> None:
    """No command, however broken, does more than name nothing."""
    assert all(path.startswith("/") for path in written(command, "/r"))
