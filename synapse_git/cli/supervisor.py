"""What starts programs when the user logs in, and how it is told about the hub: systemd or launchd."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from xml.sax.saxutils import escape

from synapse_git import address, starter
from synapse_git.cli.unit import Unit, seal
from synapse_git.errors import SynapseError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SYSTEMD = "synapse-git.service"
_LAUNCHD = "synapse-git.hub"

Commands = tuple[tuple[str, ...], ...]


class Supervisor:
    """``unit``: its file for the hub. Each of the rest is what to type:

    ``reachable`` succeeds where it can be talked to, ``active`` where it runs the hub; ``start``, now and at every
    login; ``stop``, whose failures mean that there was nothing to stop.
    """

    __slots__ = ("active", "name", "reachable", "start", "stop", "unit")

    def __init__(
        self,
        name: str,
        unit: Unit,
        *,
        reachable: tuple[str, ...],
        active: tuple[str, ...],
        start: Commands,
        stop: Commands,
    ) -> None:
        self.name = name
        self.unit = unit
        self.reachable = reachable
        self.active = active
        self.start = start
        self.stop = stop


def of(platform: str, env: Mapping[str, str]) -> Supervisor:
    """The one of ``platform`` (as ``sys.platform`` has it).

    Raises:
        UsageError: none is known for it.
    """
    if platform.startswith("linux"):
        return _systemd(env)
    if platform == "darwin":
        return _launchd(env)
    raise UsageError(f"no service supervisor is known for {platform}. Run it under yours: synapse-git hub run")


def _systemd(env: Mapping[str, str]) -> Supervisor:
    config = env.get("XDG_CONFIG_HOME", "")
    home = config if config.startswith("/") else address.home(env) + "/.config"
    settings = [f"Environment={_systemd_word(f'{key}={value}')}" for key, value in _environment(env)]
    text = _filled(_SYSTEMD, PYTHON=_systemd_word(sys.executable), ENVIRONMENT="\n".join(settings))
    talk = ("systemctl", "--user")
    return Supervisor(
        "systemd",
        Unit(f"{home}/systemd/user/{_SYSTEMD}", text),
        reachable=(*talk, "show-environment"),
        active=(*talk, "is-active", "--quiet", _SYSTEMD),
        start=((*talk, "daemon-reload"), (*talk, "enable", _SYSTEMD), (*talk, "restart", _SYSTEMD)),
        stop=((*talk, "disable", "--now", _SYSTEMD),),
    )


def _systemd_word(text: str) -> str:
    """One word of a unit's line. ``%`` would begin a specifier."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _launchd(env: Mapping[str, str]) -> Supervisor:
    path = f"{address.home(env)}/Library/LaunchAgents/{_LAUNCHD}.plist"
    settings = [
        f"\t\t<key>{escape(key)}</key>\n\t\t<string>{escape(value)}</string>" for key, value in _environment(env)
    ]
    text = _filled(
        f"{_LAUNCHD}.plist",
        PYTHON=escape(sys.executable),
        ENVIRONMENT="\n".join(settings),
        LOG=escape(starter.log_file(address.state_dir(env))),
    )
    domain = f"gui/{os.getuid()}"
    return Supervisor(
        "launchd",
        Unit(path, text),
        reachable=("launchctl", "print", domain),
        active=("launchctl", "print", f"{domain}/{_LAUNCHD}"),
        start=(("launchctl", "bootstrap", domain, path),),
        stop=(("launchctl", "bootout", f"{domain}/{_LAUNCHD}"),),
    )


def _environment(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """What the service's hub must share with its clients: where the state lies, if not in the usual place."""
    state = env.get("XDG_STATE_HOME", "").strip()
    return [("XDG_STATE_HOME", state)] if state.startswith("/") else []


def _filled(name: str, **values: str) -> str:
    """The template ``name`` with its ``@PLACES@`` filled, sealed; a line that ends up empty is left out."""
    lines = []
    for line in _template(name).split("\n"):
        filled = line
        for place, value in values.items():
            filled = filled.replace(f"@{place}@", value)
        if filled or not line:
            lines.append(filled)
    return seal("\n".join(lines))


def _template(name: str) -> str:
    """The text of a template: inside the hub's package where it is installed, beside it in the sources."""
    spec = find_spec("synapse_hub")
    for root in (spec and spec.submodule_search_locations) or ():
        for directory in (root, os.path.dirname(root)):
            try:
                with open(f"{directory}/deploy/{name}", encoding="utf-8") as file:
                    return file.read()
            except FileNotFoundError:
                continue
    raise SynapseError(f"{name} is missing from the installation. Install the package anew")
