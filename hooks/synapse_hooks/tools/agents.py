"""``python -I -m synapse_hooks tools VERB NAME…``: the hooks of coding agents, installed and looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from synapse_git import checkout, equipment, switches
from synapse_git.errors import CheckoutError, UsageError
from synapse_hooks.tools import hook
from synapse_hooks.tools.configuration import Configuration, chosen, content

PROJECT, USER = "project", "user"

_USAGE = "usage: python -I -m synapse_hooks tools install|uninstall|status|print NAME… --scope project|user --cwd DIR"


def act(arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """``{agents: […]}``, one for each name.

    All have ``name``, ``scope``, ``file``; after ``install`` and ``uninstall`` ``changed`` and ``copy``, after the
    former also ``note`` (what is left to the user); for ``status`` ``state`` (as `Configuration.state` has it, or
    ``off`` where settings keep installed hooks from running), ``detail`` and ``found`` (is it on PATH?); for ``print``
    ``text``.

    Raises:
        UsageError: no such verb or harness.
        CheckoutError: a configuration that cannot be read or written, or a project that is none.
    """
    verb, names, scope, cwd = _parse(arguments)
    root = _project(cwd, env, scope)
    return {"agents": [_one(verb, name, scope, root, env) for name in names]}


def _one(verb: str, name: str, scope: str, root: str, env: Mapping[str, str]) -> dict[str, Any]:
    place = equipment.PLACES[name]
    path = chosen(name, f"{root}/{place.project}" if scope == PROJECT else place.users(env))
    about = {"name": name, "scope": scope, "file": path}
    if verb == "print":
        return about | {"text": content(name, path).text()}
    configuration = Configuration(name, path, env)
    if verb == "uninstall":
        return about | configuration.uninstall()
    done = configuration.install() if verb == "install" else {}
    state, detail = configuration.state()
    if state in ("installed", "outdated") and (switch := switches.off(name, root, env)):
        state, detail = "off", f"no hook of {name} runs with {switch}. Take that out"
    if verb == "install":
        return about | done | {"note": detail or hook.dialect(name).note}
    return about | {"state": state, "detail": detail, "found": _on_path(place.program, env)}


def _project(cwd: str, env: Mapping[str, str], scope: str) -> str:
    """The top of the checkout, where harnesses look for a project's configuration; '' for the user's outside of any."""
    try:
        return checkout.find(cwd, env).root
    except CheckoutError:
        if scope == PROJECT:
            raise
        return ""


def _on_path(program: str, env: Mapping[str, str]) -> bool:
    folders = env.get("PATH", os.defpath).split(":")
    return any(os.access(f"{folder}/{program}", os.X_OK) for folder in folders if folder.startswith("/"))


def _parse(arguments: Sequence[str]) -> tuple[str, list[str], str, str]:
    verb, *rest = arguments or [""]
    options = {"--scope": PROJECT, "--cwd": "."}
    names = []
    words = iter(rest)
    for word in words:
        if word in options:
            options[word] = next(words, "")
        else:
            names.append(word)
    known = verb in ("install", "uninstall", "status", "print") and options["--scope"] in (PROJECT, USER)
    if not known:
        raise UsageError(_USAGE)
    for name in names:
        if name not in hook.HARNESSES:
            raise UsageError(f"no coding agent {name!r} is known. There are: {', '.join(hook.HARNESSES)}")
    return verb, names or list(hook.HARNESSES), options["--scope"], os.path.abspath(options["--cwd"])
