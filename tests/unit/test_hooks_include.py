"""The include at the end of a configuration file, and the file's lock."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_git.errors import CheckoutError
from synapse_hooks.setup import configfile, configured, include, whole

ENV = {"HOME": "/home/ana", "XDG_DATA_HOME": '/home/ana/with "quotes" \\ and more'}
LINES = st.sampled_from(
    ["[core]\n", "\tbare = false\n", "# a remark\n", "\n", "[include]\n", "\tpath = x\n", "[a", "é", "\r\n"]
)


def _on(content: bytes, tmp_path: Path) -> bytes:
    file = tmp_path / "config"
    file.write_bytes(content)
    assert include.switch_on(str(file), include.config(ENV))
    return file.read_bytes()


@given(st.lists(LINES).map("".join))
def test_what_was_added_is_cut_to_the_byte(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """On and off again leaves any file as it was, with and without a newline at its end."""
    tmp_path = tmp_path_factory.mktemp("config")
    file = tmp_path / "config"
    assert _on(text.encode(), tmp_path).startswith(text.encode())
    assert include.switch_off(str(file))
    assert file.read_bytes() == text.encode()
    assert not include.switch_off(str(file))


def test_git_reads_the_path_as_it_is_meant(tmp_path: Path) -> None:
    """Quotes and backslashes in the path survive Git's own reading."""
    _on(b"[core]\n\tbare = false", tmp_path)
    ended = subprocess.run(
        ["git", "config", "--file", tmp_path / "config", "include.path"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.removesuffix("\n") == include.config(ENV)


def test_switching_on_twice_leaves_one_include(tmp_path: Path) -> None:
    """What is there already is moved to the end, not doubled."""
    once = _on(b"[core]\n", tmp_path)
    with (tmp_path / "config").open("ab") as file:
        file.write(b"[user]\n\tname = T\n")
    assert include.switch_on(str(tmp_path / "config"), include.config(ENV))
    assert (tmp_path / "config").read_bytes() == b"[core]\n[user]\n\tname = T\n" + once.removeprefix(b"[core]\n")


def test_what_git_put_into_our_section_stays(tmp_path: Path) -> None:
    """An include that somebody adds later lands in our section, and outlives it."""
    _on(b"[core]\n\tbare = false\n", tmp_path)
    file = tmp_path / "config"
    subprocess.run(["git", "config", "--file", file, "--add", "include.path", "theirs"], check=True)
    assert include.switch_off(str(file))
    assert file.read_bytes() == b"[core]\n\tbare = false\n[include]\n\tpath = theirs\n"


def test_mode_and_link_are_kept(tmp_path: Path) -> None:
    """The file behind a link is changed, with the mode that it had."""
    real = tmp_path / "real"
    real.write_text("[core]\n")
    real.chmod(0o640)
    (tmp_path / "config").symlink_to("real")
    assert include.switch_on(str(tmp_path / "config"), include.config(ENV))
    assert (tmp_path / "config").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["config", "real"]


def test_a_lock_that_stays_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another git command holds the file, nothing is written, and the way out is named."""
    monkeypatch.setattr(configfile, "_PATIENCE_S", 0.05)
    file = tmp_path / "config"
    file.write_text("[core]\n")
    (tmp_path / "config.lock").touch()
    with pytest.raises(CheckoutError, match="another git command"):
        include.switch_on(str(file), include.config(ENV))
    assert file.read_text() == "[core]\n"
    assert (tmp_path / "config.lock").exists()


@pytest.mark.parametrize("written", [False, True])
def test_a_lock_of_ours_that_was_killed_is_taken_away(tmp_path: Path, written: bool) -> None:
    """Before it had renamed its draft or after, the lock is another name of that file."""
    file, draft = tmp_path / "config", tmp_path / ("config" if written else f"config{whole.DRAFT}")
    file.write_text("[core]\n")
    draft.touch()
    os.link(draft, tmp_path / "config.lock")
    assert include.switch_on(str(file), include.config(ENV))
    assert os.listdir(tmp_path) == ["config"]


def test_a_lock_that_goes_is_waited_for(tmp_path: Path) -> None:
    """A git command that is about to end is no reason to fail."""
    file = tmp_path / "config"
    file.write_text("[core]\n")
    lock = tmp_path / "config.lock"
    lock.touch()
    timer = threading.Timer(0.1, lock.unlink)
    timer.start()
    assert include.switch_on(str(file), include.config(ENV))
    timer.join()
    assert not lock.exists()


def test_only_the_include_that_is_meant_counts(tmp_path: Path) -> None:
    """Of the two files that can be included each is known by its name."""
    _on(b"[core]\n", tmp_path)
    assert include.switched_on(str(tmp_path / "config"), include.config(ENV))
    assert not include.switched_on(str(tmp_path / "config"), configured.config(ENV))
    assert not include.switched_on(str(tmp_path / "none"), include.config(ENV))
