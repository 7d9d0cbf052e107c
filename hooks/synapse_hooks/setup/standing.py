"""How the guard of a repository stands: read only."""

from __future__ import annotations

from synapse_hooks.setup import configured, include, shims
from synapse_hooks.setup.repository import Repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_WORDS = {"foreign": "another tool's", "broken": "not executable, or of an installation that is gone"}


def status(cwd: str, env: Mapping[str, str]) -> dict[str, Any]:
    """The guard of the repository around ``cwd``, as a JSON document.

    ``guarded``: do the hooks run that nothing gets past?; ``mode``, ``hooks_dir`` and ``chained`` as
    `installation.install` has them; ``hooks``: the state of each (`shims.state`); ``configured``: the worst state of
    those in Git's configuration, '' where this Git looks for none there; ``interpreter``: what they start, and
    ``interpreter_exists``; ``detail``: what is amiss, in words.
    """
    repository = Repository(cwd, env)
    mode = repository.mode()
    states = _states(repository, mode)
    also = _configured(repository)
    shim = shims.read(f"{repository.directory(mode)}/{shims.DECISIVE[0]}")
    return {
        "guarded": all(states[name] in ("current", "outdated") for name in shims.DECISIVE),
        "mode": mode,
        "hooks_dir": repository.directory(mode),
        "hooks": states,
        "chained": repository.chained(mode),
        "configured": also,
        "interpreter": shim.python if shim else "",
        "interpreter_exists": bool(shim and shim.works),
        "detail": _complaint(repository, mode, states, also, shim),
    }


def _states(repository: Repository, mode: str) -> dict[str, str]:
    found = dict.fromkeys(shims.OURS, "missing")
    if mode == "hooks":
        found |= {hook.name: hook.state() for hook in repository.hooks()}
    elif mode == "include":
        here = include.directory(repository.env)
        found = {name: shims.state(f"{here}/{name}", shims.text(name, here=here)) for name in found}
    return found


def _configured(repository: Repository) -> str:
    env = repository.env
    if not configured.understood(env):
        return ""
    if not any(include.switched_on(repository.config, file) for file in (configured.config(env), include.config(env))):
        return "missing"
    found = [shims.state(f"{configured.directory(env)}/{name}", shims.text(name)) for name in configured.EVENTS]
    return next((state for state in found if state != "current"), "current")


def _complaint(repository: Repository, mode: str, states: Mapping[str, str], also: str, shim: shims.Shim | None) -> str:
    if not mode:
        judged = "nothing is judged"
        if also in ("current", "outdated"):
            judged = "Git's configuration has commits judged all the same, plumbing is not"
        return f"core.hooksPath leads past it, to {repository.displaced()}; {judged}"
    if all(state == "missing" for state in states.values()):
        return "not installed"
    if shim and not shim.works:
        return f"its hooks start a program that is gone, {shim.python}"
    if shim and shim.python != shims.interpreter():
        return f"its hooks are those of another installation, {shim.python}"
    if mode == "hooks" and repository.awaits_husky and "missing" not in states.values():
        return "husky is in this project, and would lead Git past it"
    if also not in ("", "current"):
        states = {**states, "what Git would find in its configuration": also}
    alike = dict[str, list[str]]()
    for name, state in states.items():
        alike.setdefault(_WORDS.get(state, state), []).append(name)
    alike.pop("current", None)
    return "; ".join(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {words}" for words, names in alike.items()
    )
