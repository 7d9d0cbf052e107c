"""Who may import whom, and the rules of the house that a linter does not know."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from synapse_git import address

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "synapse_git": ROOT / "synapse_git",
    "synapse_hub": ROOT / "hub/synapse_hub",
    "synapse_watch": ROOT / "hub/synapse_watch",
    "synapse_hooks": ROOT / "hooks/synapse_hooks",
}
# Stdlib-only, and light enough for a hook.
LIGHT = frozenset(
    "ancestry binding equipment document constants errors scope address exchange loopback starter git record".split()  # noqa: SIM905 - a line each would be a page
) | {"checkout", "content", "gitdir", "governed", "identity", "explain", "jsonc", "policy", "settings", "switches"}
FOUNDATION = LIGHT | {"protocol"}
# What the watcher asks the hub through, as the command line does.
ASKING = LIGHT | {"client", "document", "quarantine"}
HEAVY = ("typing", "enum", "re", "json", "subprocess", "dataclasses", "socket", "argparse")
FORBIDDEN_NAMES = ("manager", "helper", "helpers", "util", "utils", "common")
MAXIMUM_LINES = 450
# Where a process, a thread or a request ends, and whatever went wrong must be told instead of raised.
EDGES = frozenset(
    {
        "synapse_git/cli/edge.py",
        "hub/synapse_hub/__main__.py",
        "hub/synapse_watch/__main__.py",
        "hooks/synapse_hooks/__main__.py",
        "hooks/synapse_hooks/edge.py",
    }
)


def _sources(package: str) -> list[Path]:
    return sorted(PACKAGES[package].rglob("*.py"))


def _all_sources() -> list[Path]:
    return [source for package in PACKAGES for source in _sources(package)]


def _name(source: Path) -> str:
    return str(source.relative_to(ROOT))


def _imports(source: Path) -> Iterator[str]:
    """Every module that ``source`` imports anywhere, ``package.module`` for ``from package import module``."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{source}:{node.lineno} imports relatively"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def _ours(source: Path) -> set[tuple[str, str]]:
    """(package, first module in it) of each import of ours."""
    found = set()
    for name in _imports(source):
        package, _, rest = name.partition(".")
        if package in PACKAGES:
            found.add((package, rest.partition(".")[0]))
    return found


@pytest.mark.parametrize("package", ["synapse_hub", "synapse_watch", "synapse_hooks"])
def test_hub_watcher_and_hooks_import_the_foundation_and_themselves_only(package: str) -> None:
    """The hub, the watcher and the hooks know the foundation modules, and neither each other nor the command line."""
    allowed = {"synapse_hub": FOUNDATION, "synapse_watch": ASKING, "synapse_hooks": LIGHT}[package]
    for source in _sources(package):
        for imported, module in _ours(source):
            assert imported in (package, "synapse_git"), f"{_name(source)} imports {imported}"
            if imported == "synapse_git":
                assert module in allowed | {"", "__version__"}, f"{_name(source)} imports synapse_git.{module}"


def test_decisions_know_nothing_of_what_peers_told() -> None:
    """What the core decides from is its own: it sees neither the view of peers nor any other room of the hub."""
    for source in sorted((PACKAGES["synapse_hub"] / "core").rglob("*.py")):
        rooms = {".".join(name.split(".")[:2]) for name in _imports(source) if name.startswith("synapse_hub")}
        assert rooms <= {"synapse_hub.core"}, _name(source)


def test_the_command_line_imports_neither_hub_nor_hooks() -> None:
    """The process boundary is the package boundary: synapse_git starts the others and never imports them."""
    for source in _sources("synapse_git"):
        assert {imported for imported, _ in _ours(source)} <= {"synapse_git"}, _name(source)


@pytest.mark.parametrize("module", sorted(LIGHT))
def test_the_light_foundation_imports_the_stdlib_and_itself_only(module: str) -> None:
    """What a hook imports needs nothing installed."""
    for name in _imports(PACKAGES["synapse_git"] / f"{module}.py"):
        package, _, rest = name.partition(".")
        if package == "synapse_git":
            assert rest.partition(".")[0] in LIGHT, f"{module} imports {name}"
        else:
            assert package in sys.stdlib_module_names or package == "__future__", f"{module} imports {name}"


def test_importing_the_light_foundation_loads_nothing_slow() -> None:
    """A hook's interpreter starts without any of the modules that cost more than the interpreter itself."""
    imports = ", ".join(f"synapse_git.{module}" for module in sorted(LIGHT))
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {imports}; print(*sys.modules, sep='\\n')"
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(ended.stdout.split())


@pytest.mark.parametrize("source", _all_sources(), ids=_name)
def test_modules_keep_the_rules_of_the_house(source: Path) -> None:
    """A module is named by one noun, stays readable in length, and catches everything only where a process ends."""
    words = _name(source).removesuffix(".py").replace("/", "_").split("_")
    assert not set(words) & set(FORBIDDEN_NAMES)
    text = source.read_text()
    assert text.count("\n") <= MAXIMUM_LINES
    if _name(source) not in EDGES:
        handlers = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ExceptHandler)]
        broad = [handler.lineno for handler in handlers if _is_broad(handler)]
        assert not broad, f"catches everything in line {broad}"


def _is_broad(node: ast.ExceptHandler) -> bool:
    """``except:`` and ``except Exception:``, and ``except BaseException:`` that does not raise again."""
    names = (
        {caught.id for caught in ast.walk(node.type) if isinstance(caught, ast.Name)} if node.type else {"Exception"}
    )
    if "BaseException" in names:
        return not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    return "Exception" in names


@pytest.mark.parametrize("source", _all_sources(), ids=_name)
def test_every_module_says_what_it_is_for(source: Path) -> None:
    """Each module begins with a docstring."""
    assert ast.get_docstring(ast.parse(source.read_text())) or not source.read_text()


@pytest.mark.parametrize("home", ["/home/ana", "/home/ana/", "/home/with space"])
@pytest.mark.parametrize("configured", [None, "", "  ", "/elsewhere", "/elsewhere/deeper"])
def test_directories_are_those_of_platformdirs(
    home: str, configured: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State and data lie where platformdirs would put them, without its import."""
    env = {"HOME": home}
    if configured is not None:
        env |= {"XDG_STATE_HOME": configured, "XDG_DATA_HOME": configured}
    for variable in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    assert Path(address.state_dir(env)) == Path(platformdirs.user_state_dir(address.APP))
    assert Path(address.data_dir(env)) == Path(platformdirs.user_data_dir(address.APP))


def test_without_a_home_the_password_database_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No HOME in the environment leads to the same directory as platformdirs' own fallback."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert Path(address.state_dir({})) == Path(platformdirs.user_state_dir(address.APP))
    assert os.environ.get("HOME") is None
