"""The text of the shims."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from synapse_hooks.setup import shims

SHELLS = [shell for shell in (["dash"], ["bash", "--posix"], ["busybox", "sh"], ["sh"]) if shutil.which(shell[0])]


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_every_shim_is_valid_in_every_shell(shell: list[str]) -> None:
    """dash, bash, busybox, whatever is there and called sh can read it."""
    for text in (shims.text("pre-commit", kept="pre-commit.kept"), shims.text("update", here="/some/'where")):
        subprocess.run([*shell, "-n"], input=text, check=True)


def test_the_second_line_is_the_mark(tmp_path: Path) -> None:
    """Whether a file is ours, and what it runs next, stands in its second line."""
    path = tmp_path / "pre-commit"
    path.write_bytes(shims.text("pre-commit", kept="pre-commit.kept"))
    assert path.read_text().splitlines()[1] == "# synapse-git hook 1 before pre-commit.kept"
    found = shims.read(str(path))
    assert found
    assert found.kept == "pre-commit.kept"
    assert found.works


def test_awkward_places_are_quoted(tmp_path: Path) -> None:
    """Directories with quotes, spaces and bytes that are no text come back as they went in."""
    here = tmp_path / "it's a $place\udcff"
    path = tmp_path / "update"
    path.write_bytes(shims.text("update", here=str(here)))
    ended = subprocess.run(["sh", "-c", f'eval "$(grep -a ^here= {path})"; printf %s "$here"'], capture_output=True)
    assert ended.stdout.decode("utf-8", "surrogateescape") == str(here)


@pytest.mark.parametrize("content", ["", "#!/bin/sh\n", "#!/bin/sh\necho '# synapse-git hook 1'\n"])
def test_what_others_wrote_is_not_ours(tmp_path: Path, content: str) -> None:
    """Nothing but the mark in its place makes a file ours."""
    path = tmp_path / "pre-commit"
    path.write_text(content)
    assert shims.read(str(path)) is None


def test_a_link_is_never_ours(tmp_path: Path) -> None:
    """A symlink to one of our files was made by somebody else."""
    (tmp_path / "real").write_bytes(shims.text("pre-commit"))
    (tmp_path / "pre-commit").symlink_to("real")
    assert shims.read(str(tmp_path / "pre-commit")) is None


def test_every_hook_that_git_documents_is_known() -> None:
    """Where core.hooksPath leads to us, all hooks of githooks(5) must be passed on."""
    documented = """applypatch-msg commit-msg p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist
        post-applypatch post-checkout post-commit post-index-change post-merge post-receive post-rewrite post-update
        pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg
        proc-receive push-to-checkout reference-transaction sendemail-validate update"""
    assert set(shims.EVERY) == set(documented.split())
    assert len(shims.EVERY) == len(set(shims.EVERY))
