"""The documents say what the code does: fences are run, tables compared with the declarations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from synapse_git import constants, errors
from synapse_git.protocol.body import Body
from synapse_git.protocol.claims import (
    CheckpointBody,
    ClaimBody,
    HandoffBody,
    HeartbeatBody,
    ReleaseBody,
    TaskBody,
    UpdateBody,
)
from synapse_git.protocol.guard import GuardBody, GuardPolicy, OverrideBody, WorktreeBody
from synapse_git.protocol.session import AnyFrame
from synapse_git.protocol.talk import AckBody, MessageBody, NoteBody, ReclaimBody, ResourceBody, WithdrawBody
from synapse_git.protocol.team import (
    LocalRepository,
    TeamAdmitBody,
    TeamInitBody,
    TeamJoinBody,
    TeamLeaveBody,
    TeamRemoveBody,
    TeamTransferBody,
)
from synapse_git.protocol.watch import (
    EditsBody,
    ForeignEditBody,
    QuarantinedBody,
    SeenFile,
    WatchedBody,
    WatcherBody,
    WrittenFile,
)
from synapse_hub.core import events
from synapse_hub.federation.estate import EstatePart
from synapse_hub.web.app import ROUTES, SESSION
from tests import cli_reference
from tests.box import Box
from tests.team.hosts import Host, free_port, origin

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
PAGES = [page for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if page.name != "LICENSE.md"]
SESSIONS = [page for page in PAGES if "```console\n$ " in page.read_text()]
TWO_MACHINES = ROOT / "docs/how-to/team.md"

BODIES: dict[str, type[Body]] = {
    "POST /v2/claim": ClaimBody,
    "POST /v2/release": ReleaseBody,
    "POST /v2/task_update": UpdateBody,
    "POST /v2/handoff": HandoffBody,
    "POST /v2/checkpoint": CheckpointBody,
    "POST /v2/heartbeat": HeartbeatBody,
    "POST /v2/guard": GuardBody,
    "POST /v2/overrides": OverrideBody,
    "POST /v2/messages": MessageBody,
    "POST /v2/ack": AckBody,
    "POST /v2/notes": NoteBody,
    "POST /v2/resources": ResourceBody,
    "POST /v2/resources/withdraw": WithdrawBody,
    "POST /v2/names/reclaim": ReclaimBody,
    "POST /v2/edits": EditsBody,
    "POST /v2/watched": WatchedBody,
    "POST /v2/foreign_edits": ForeignEditBody,
    "POST /v2/watchers": WatcherBody,
    "POST /v2/quarantined": QuarantinedBody,
    "POST /v2/worktrees": WorktreeBody,
    "POST /v2/team/init": TeamInitBody,
    "POST /v2/team/join": TeamJoinBody,
    "POST /v2/team/admit": TeamAdmitBody,
    "POST /v2/team/leave": TeamLeaveBody,
    "POST /v2/team/depart": TeamLeaveBody,
    "POST /v2/team/remove": TeamRemoveBody,
    "POST /v2/team/transfer": TeamTransferBody,
    "POST /v2/team/inherit": EstatePart,
}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _rows(text: str) -> list[list[str]]:
    """The cells of every table row whose first cell is code."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def _codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _sections(text: str, level: int) -> dict[str, str]:
    """Heading, without backquotes: what stands under it up to the next heading of its level or above."""
    parts = re.split(rf"^(#{{1,{level}}}) (.*)$", text, flags=re.MULTILINE)[1:]
    thirds = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {title.strip("`"): body for marks, title, body in thirds if len(marks) == level}


# ---- sessions ----


def _steps(page: Path) -> list[tuple[str, list[str]]]:
    """Each command of the page's console fences with the lines that it should print."""
    steps: list[tuple[str, list[str]]] = []
    for fence in re.findall(r"^```console\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL):
        for line in fence.splitlines():
            if re.match(r"(?:first|second)?\$ ", line):
                steps.append((line.removeprefix("$ "), []))
            elif line.startswith("> "):
                steps[-1] = (f"{steps[-1][0]}\n{line[2:]}", [])
            else:
                steps[-1][1].append(line)
    return steps


def _matches(expected: list[str], printed: str) -> bool:
    """``…`` in a line stands for any text, alone on a line for any number of lines."""
    pattern = ""
    for line in expected:
        pattern += r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.parametrize("page", SESSIONS, ids=_name)
def test_the_sessions_in_a_page_run_as_printed(page: Path, box: Box) -> None:
    """Typed into one shell, one after the other, the commands print what the page shows."""
    steps = _steps(page)
    script = "exec 2>&1 </dev/null\n" + "".join(f"{command}\nprintf '\\0'\n" for command, _ in steps)
    printed = box.run("bash", "-c", script, timeout_s=120).out.split("\0")
    assert len(printed) == len(steps) + 1
    for (command, expected), actual in zip(steps, printed, strict=False):
        assert _matches(expected, actual), f"$ {command}\n{actual}\nis not what the page shows:\n" + "\n".join(expected)


def test_two_machines_come_to_a_refused_commit_as_the_page_shows(box: Box, tmp_path: Path) -> None:
    """Its commands, on two hosts, with a free port for the one in the page."""
    upstream = origin(box)
    place = f"127.0.0.1:{free_port()}"
    token, codes = b"", list[int]()
    with Host(tmp_path, "first") as first, Host(tmp_path, "second") as second:
        for host in (first, second):
            host.clone(upstream)
            host.done("synapse-git", "uninstall")
        for step, expected in _steps(TWO_MACHINES):
            name, _, command = step.replace("10.0.0.7:8731", place).partition("$ ")
            host = first if name == "first" else second
            ended = host.run("bash", "-c", f"exec 2>&1\n{command}", stdin=token)
            lines = [line.replace("10.0.0.7:8731", place) for line in expected]
            assert _matches(lines, ended.out), f"{step}\n{ended.out}\nis not what the page shows:\n" + "\n".join(lines)
            codes.append(ended.code)
            if told := re.search(r"counts once: (\S+)", ended.out):
                token = told[1].encode()
    assert codes == [0, 0, 0, 0, 0, 1]


# ---- pages ----


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that is there, and a heading in it."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{_name(page)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), flags=re.MULTILINE)
            assert anchor in {_anchor(heading) for heading in headings}, f"{_name(page)} links to {target}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_readme_is_short_and_every_page_is_reached_from_it() -> None:
    """At most 150 lines, and no page of the documentation that no other page links to."""
    readme = ROOT / "README.md"
    assert readme.read_text().count("\n") <= 150
    reached, todo = {readme}, [readme]
    while todo:
        page = todo.pop()
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text()):
            file = (page.parent / target).resolve()
            if file.suffix == ".md" and file.exists() and file not in reached:
                reached.add(file)
                todo.append(file)
    assert [_name(page) for page in PAGES if page not in reached] == []


# ---- reference ----


def test_cli_reference_is_what_the_declarations_say() -> None:
    """Every verb, option and example, as the parsers have them. Mended by ``python -m tests.cli_reference``."""
    assert cli_reference.PAGE.read_text() == cli_reference.render()


def test_constants_reference_is_complete() -> None:
    """Every constant with its value, and no other."""
    listed = {_codes(row[0])[0]: ast.literal_eval(row[1]) for row in _rows((REFERENCE / "constants.md").read_text())}
    assert listed == {name: value for name, value in vars(constants).items() if name.isupper()}


def test_reasons_reference_is_complete() -> None:
    """Every reason code with its HTTP and exit status, and no other."""
    listed = {}
    for code, http, status, *_ in _rows((REFERENCE / "reasons.md").read_text()):
        listed[code.strip("`")] = (0 if http == "–" else int(http), int(status))
    assert listed == errors.REASONS


def test_routes_reference_is_complete() -> None:
    """Every route that the application answers, and every field of its body."""
    sections = _sections((REFERENCE / "routes.md").read_text(), 3)
    assert set(sections) == {f"{method} {path}" for method, path, _ in ROUTES} | {f"WS {SESSION}"}
    for frame in get_args(AnyFrame):
        kind = str(frame.__struct_config__.tag)
        page = sections[f"WS {SESSION}"]
        assert f"`{kind}`" in page and all(f"`{field}`" in page for field in frame.__struct_fields__), kind
    for route, body in BODIES.items():
        fields = [field for row in _rows(sections[route]) for field in _codes(row[0])]
        assert sorted(fields) == sorted(body.__struct_fields__), route


def test_events_reference_is_complete() -> None:
    """Every kind of event, and every field of it."""
    sections = _sections((REFERENCE / "events.md").read_text(), 3)
    assert set(sections) == set(events.KINDS)
    for kind, event in events.KINDS.items():
        fields = [field for row in _rows(sections[kind]) for field in _codes(row[0])]
        assert sorted(fields) == sorted(set(event.__struct_fields__) - {"at"}), kind


def test_environment_reference_names_every_variable() -> None:
    """What the code reads is on the page, and the page names nothing that the code does not know."""
    page = _sections((REFERENCE / "environment.md").read_text(), 2)["Variables"]
    listed = {variable for row in _rows(page) for variable in _codes(row[0])}
    known = set(_variables())
    assert known <= listed
    assert {name for name in listed if name.startswith("SYNAPSE_")} <= known


def _variables() -> Iterator[str]:
    """Texts in the sources that are spelled like one of our variables or like one that tells who is asking."""
    pattern = re.compile(r"SYNAPSE_[A-Z_]+|[A-Z]+_(CODE_)?SESSION_ID")
    for text in _texts():
        if pattern.fullmatch(text):
            yield text


def test_settings_reference_names_every_setting() -> None:
    """Every Git configuration key that the code reads is on the page, and no other."""
    listed = {key.lower() for row in _rows((REFERENCE / "settings.md").read_text()) for key in _codes(row[0])}
    pattern = re.compile(r"synapse\.[a-z]+(\.[a-z]+)?")
    assert listed == {text for text in _texts() if pattern.fullmatch(text) and not text.startswith("synapse.peer_")}


def _texts() -> Iterator[str]:
    """Every string constant of the sources."""
    for root in ("synapse_git", "hub/synapse_hub", "hub/synapse_watch", "hooks/synapse_hooks"):
        for source in sorted((ROOT / root).rglob("*.py")):
            for node in ast.walk(ast.parse(source.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


_PARTS = {Body, TaskBody, GuardPolicy, WrittenFile, SeenFile}
_PARTS |= {LocalRepository}


def _below(kind: type[Body]) -> Iterator[type[Body]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _below(one)


def test_bodies_named_here_are_all_there_are() -> None:
    """A new body of the wire is compared with the page as well."""
    kinds = {kind for kind in _below(Body) if kind.__module__.startswith("synapse_git.protocol.")}
    assert kinds - set(BODIES.values()) - _PARTS == set()


# ---- invariants ----

INVARIANTS = ROOT / "docs/spec/invariants.md"


def _rules() -> dict[str, str]:
    """Each invariant's id: what stands under it."""
    return {title.partition(" ")[0]: body for title, body in _sections(INVARIANTS.read_text(), 3).items()}


def _symbols(path: Path) -> set[str]:
    """Every name that a module defines, at any depth."""
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    named = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    return named | {target.id for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets
                    if isinstance(target, ast.Name)}  # fmt: skip


def test_invariants_name_code_and_tests_that_exist() -> None:
    """Every ``path:symbol`` is there, and every rule has both."""
    for rule, body in _rules().items():
        codes = [code for code in _codes(body) if ".py" in code]
        assert any(code.startswith("tests/") for code in codes), rule
        assert any(not code.startswith("tests/") for code in codes), rule
        for code in codes:
            path, _, symbol = code.partition(":")
            assert (ROOT / path).is_file(), (rule, code)
            assert not symbol or symbol in _symbols(ROOT / path), (rule, code)


def test_invariants_and_the_tests_that_pin_them_agree() -> None:
    """A test that carries an id stands in a file the rule names, and every rule of the page is pinned by one."""
    rules = _rules()
    pinned: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for family, number in re.findall(r"^def test_inv_([a-z]+)_(\d+)_", path.read_text(), re.MULTILINE):
            pinned.setdefault(f"INV-{family.upper()}-{number}", set()).add(str(path.relative_to(ROOT)))
    assert set(pinned) == set(rules)
    for rule, files in pinned.items():
        assert files & set(_codes(rules[rule])), rule


def test_invariants_name_the_constants_of_the_code() -> None:
    """A name in capitals is a constant somewhere in the product."""
    defined = set(vars(constants)) | set(errors.REASONS)
    for path in (ROOT / "hub/synapse_hub").rglob("*.py"):
        defined |= _symbols(path)
    named = {code for code in _codes(INVARIANTS.read_text()) if re.fullmatch(r"[A-Z][A-Z_]+", code)}
    assert named <= defined
