"""Hooks in a configuration that somebody else wrote: put in, found again, taken out to the byte."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_git import jsonc
from synapse_git.errors import CheckoutError
from synapse_hooks.tools import hook
from synapse_hooks.tools.configuration import Configuration
from synapse_hooks.tools.entries import Entries
from tests.box import PROGRAMS, Box

FOREIGN = {
    "empty object": "{}",
    "empty object on two lines": "{\n}\n",
    "one line": '{"model": "x", "hooks": {"Stop": []}}',
    "tabs": '{\n\t"model": "x",\n\t"hooks": {\n\t\t"PreToolUse": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}\n',
    "comments": '{ // mine\n  /* model */ "model": "x", // the best\n  "hooks": { /* none */ },\n}\n// end\n',
    "crlf": '{\r\n    "b": [1,2 , 3],\r\n    "a": "é"\r\n}\r\n',
    "bom": '\ufeff{\n  "a": 1\n}\n',
    "no newline at the end": '{\n  "PreToolUse": "not a hook"\n}',
    "twice": '{"hooks": {}, "hooks": {"PreToolUse": []}}',
    "brackets in texts": '{\n  "a": "}{][,//",\n  "b\\"": "\\\\"\n}\n',
    "blank": " \n\n",
}


LISTING = [name for name in hook.HARNESSES if not hook.dialect(name).script]


@pytest.fixture(params=LISTING)
def harness(request: pytest.FixtureRequest) -> str:
    """Each whose configuration lists hooks."""
    return str(request.param)


def configuration(tmp_path: Path, harness: str) -> tuple[Configuration, Path]:
    """Its configuration in a home of its own, in a directory that is not there yet."""
    file = tmp_path / "project" / ".dir" / "settings.json"
    return Configuration(harness, str(file), {"HOME": str(tmp_path)}), file


def put(file: Path, text: str) -> bytes:
    """``text`` as the file's content."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file.read_bytes()


def without_ours(harness: str, value: Any) -> Any:
    """What a configuration says beside our hooks."""
    ours = Entries(harness, hook.dialect(harness))
    hooks = {
        event: left
        for event, entries in value.get("hooks", {}).items()
        if (left := [entry for entry in entries if not ours.owns(entry)])
    }
    return {key: item for key, item in value.items() if key not in ("hooks", "version")} | {"hooks": hooks}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_it_goes_in_without_touching_the_rest_and_comes_out_to_the_byte(
    text: str, harness: str, tmp_path: Path
) -> None:
    """Comments, order, line ends, indentation, mark: all as before, with and without our hooks."""
    made, file = configuration(tmp_path, harness)
    before = put(file, text)
    file.chmod(0o640)
    assert made.state()[0] == "missing"
    assert made.install()["changed"]
    assert made.state() == ("installed", "")
    after = file.read_bytes().decode()
    kept = iter(after)
    assert all(c in kept for c in before.decode()), "something of what was there is gone"
    if text.strip():
        assert without_ours(harness, jsonc.parse(after).value)["hooks"] == without_ours(
            harness, jsonc.parse(text).value
        )["hooks"]  # fmt: skip
    assert not made.install()["changed"]
    assert file.read_bytes().decode() == after
    copy = made.uninstall()["copy"]
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (before, 0o640)
    assert Path(copy).read_bytes().decode() == after
    assert not made.uninstall()["changed"]


def test_a_file_that_was_made_goes_again_with_its_directories(harness: str, tmp_path: Path) -> None:
    """Nothing is left, the launcher included."""
    made, file = configuration(tmp_path, harness)
    made.install()
    json.loads(file.read_text())
    made.uninstall()
    assert not (tmp_path / "project").exists()
    assert not (tmp_path / ".local/share/synapse-git/agent-hook").exists()


def test_an_empty_file_of_somebody_elses_stays(harness: str, tmp_path: Path) -> None:
    """It was there before, so it is there afterwards."""
    made, file = configuration(tmp_path, harness)
    put(file, "")
    made.install()
    made.uninstall()
    assert file.read_bytes() == b""


def test_no_copy_is_lost_to_a_later_one(tmp_path: Path) -> None:
    """What was there before us is there to be found after any number of changes; the same is not kept twice."""
    made, file = configuration(tmp_path, "claude")
    put(file, '{"mine": 1}')
    first = Path(made.install()["copy"])
    second = Path(made.uninstall()["copy"])
    assert made.install()["copy"] == str(first) != str(second)
    file.write_text('{"mine": 2}')
    assert Path(made.install()["copy"]).read_text() == '{"mine": 2}'
    assert first.read_text() == '{"mine": 1}' and "agent-hook" in second.read_text()


@pytest.mark.parametrize("link", [".dir", ".dir/settings.json"])
def test_nothing_is_made_where_a_link_leads_that_leads_nowhere(link: str, tmp_path: Path) -> None:
    """What is to be there, outside the project perhaps, only its owner knows."""
    made, file = configuration(tmp_path, "claude")
    (file.parent if link.endswith("json") else file.parent.parent).mkdir(parents=True)
    (tmp_path / "project" / link).symlink_to(tmp_path / "elsewhere/x")
    made = Configuration("claude", str(file), {"HOME": str(tmp_path)})
    with pytest.raises(CheckoutError, match="is not there"):
        made.install()
    assert not (tmp_path / "elsewhere").exists() and not (tmp_path / ".local").exists()


def test_what_others_write_meanwhile_stays(harness: str, tmp_path: Path) -> None:
    """An entry added after ours, and one in the same list, survive the removal."""
    made, file = configuration(tmp_path, harness)
    put(file, '{\n  "a": 1\n}\n')
    made.install()
    text = file.read_text().replace('"a": 1', '"a": 1,\n  "b": [2]')
    file.write_text(text)
    made.uninstall()
    assert file.read_text() == '{\n  "a": 1,\n  "b": [2]\n}\n'


def test_without_a_record_it_is_taken_out_by_what_it_is(harness: str, tmp_path: Path) -> None:
    """A configuration that came with a clone holds our entries and nobody knows how they got there."""
    made, file = configuration(tmp_path, harness)
    put(file, '{\n  "a": 1,\n  "hooks": {\n    "Other": []\n  }\n}\n')
    made.install()
    for record in (tmp_path / ".local/share/synapse-git/agents").glob("*.record"):
        record.unlink()
    made.uninstall()
    value = json.loads(file.read_text())
    assert (value["a"], value["hooks"]) == (1, {"Other": []})


def test_what_another_version_put_in_is_brought_up_to_date(harness: str, tmp_path: Path) -> None:
    """An entry of ours that is not as it would be now is outdated, and installing mends it."""
    made, file = configuration(tmp_path, harness)
    put(file, "{}")
    made.install()
    current = file.read_text()
    file.write_text(current.replace(": 10", ": 99").replace("10000", "99000"))
    assert made.state()[0] == "outdated"
    made.install()
    assert made.state()[0] == "installed"
    assert json.loads(file.read_text()) == json.loads(current)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ('{"a": tru}', "line 1"),
        ('{"hooks": []}', "hooks is no object"),
        ("[]", "no object"),
        ('{\n"a": "x\n}', "line 2"),
        ("{} {}", "line 1"),
        ("{ /* no end", "line 1"),
    ],
)
def test_a_broken_file_is_refused_with_its_line_and_untouched(text: str, named: str, tmp_path: Path) -> None:
    """Nothing is written where it cannot be understood."""
    made, file = configuration(tmp_path, "claude")
    before = put(file, text)
    for act in (made.install, made.uninstall):
        with pytest.raises(CheckoutError, match=named):
            act()
    assert made.state()[0] == "broken"
    assert file.read_bytes() == before


def test_a_linked_configuration_stays_a_link(tmp_path: Path) -> None:
    """What it leads to is changed, as dotfiles in a repository of their own want it."""
    made, file = configuration(tmp_path, "claude")
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    file.parent.mkdir(parents=True)
    file.symlink_to(real)
    linked = Configuration("claude", str(file), {"HOME": str(tmp_path)})
    linked.install()
    assert file.is_symlink()
    assert "hooks" in json.loads(real.read_text())
    linked.uninstall()
    assert (os.readlink(file), real.read_text()) == (str(real), "{}")
    del made


def test_a_change_made_at_the_same_moment_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote in between is not undone: the installation says so and changes nothing."""
    made, file = configuration(tmp_path, "claude")
    put(file, "{}")
    remember = made._remember

    def meanwhile(record: Any) -> None:
        remember(record)
        file.write_text('{"mine": 1}')

    monkeypatch.setattr(made, "_remember", meanwhile)
    with pytest.raises(CheckoutError, match="just now"):
        made.install()
    assert file.read_text() == '{"mine": 1}'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_values_are_read_as_json_reads_them(value: Any, indent: Any) -> None:
    """Whatever json writes is read to the same value, and each child stands where it says."""
    text = json.dumps(value, indent=indent)
    node = jsonc.parse(text)
    assert node.value == value
    for child in node.children:
        assert json.loads(text[child.start : child.end]) == child.value


def test_a_plugin_is_a_file_of_its_own(tmp_path: Path) -> None:
    """It comes and goes whole, an older one is replaced, and somebody else's under its name is left alone."""
    made, file = configuration(tmp_path, "opencode")
    assert made.state()[0] == "missing"
    made.install()
    text = file.read_text()
    file.write_text(text.replace("version 1", "version 0"))
    assert made.state()[0] == "outdated"
    made.install()
    assert (made.state()[0], file.read_text()) == ("installed", text)
    made.uninstall()
    assert not (tmp_path / "project").exists()
    put(file, "export const Mine = 1\n")
    for act in (made.install, made.uninstall):
        with pytest.raises(CheckoutError, match="not ours"):
            act()
    assert file.read_text() == "export const Mine = 1\n"


OBJECTS = st.dictionaries(st.text(max_size=4) | st.just("hooks"), VALUES, max_size=4)


@given(OBJECTS, st.sampled_from([None, 1, 2, "\t"]), st.sampled_from(["\n", "\r\n"]), st.sampled_from(LISTING))
def test_any_configuration_comes_out_as_it_went_in(value: Any, indent: Any, newline: str, harness: str) -> None:
    """With the record to the byte, without it to the value, unless it is refused."""
    ours = Entries(harness, hook.dialect(harness))
    text = json.dumps(value, indent=indent).replace("\n", newline)
    segments: list[str] = []
    try:
        full = ours.put(text, segments)
    except CheckoutError:
        return
    assert ours.state(full) == "installed"
    assert ours.take(full, segments) == text
    left = jsonc.parse(ours.take(full, [])).value
    kept = {event: entries for event, entries in value.get("hooks", {}).items() if entries or event in left["hooks"]}
    assert {k: v for k, v in left.items() if k not in ("hooks", "version")} == {
        k: v for k, v in value.items() if k not in ("hooks", "version")
    }
    assert left.get("hooks", {}) == kept


# Root may write whatever its mode says, unless it is told to do without.
CONFINED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


@pytest.mark.skipif(bool(CONFINED) and not shutil.which(CONFINED[0]), reason="root may write anything here")
@pytest.mark.parametrize("closed", [".claude/settings.json", ".claude", "."])
def test_what_is_read_only_stays_as_it_is(box: Box, closed: str) -> None:
    """A file, its directory, the project: whoever closed it is told so, and nothing was made anywhere."""
    project = box.init()
    if closed != ".":
        box.write(".claude/settings.json", '{"mine": 1}', cwd=project)
    for verb in ("install", "uninstall"):
        (project / closed).chmod(0o444 if closed.endswith("json") else 0o555)
        ended = box.run(*CONFINED, PROGRAMS / "synapse-git", "agents", verb, "claude", cwd=project)
        (project / closed).chmod(0o755)
        assert ended.code == 4 and f"cannot write {(project / closed).resolve()}: it is read-only" in ended.err
    assert not (box.home / ".local/share").exists()
    assert [path.read_text() for path in project.glob(".claude/*")] == ['{"mine": 1}'] * (closed != ".")
