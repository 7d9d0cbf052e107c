"""Where the hub is found: state directory, address file, socket candidates.

The one module that knows, used by hub, hooks and command line alike, so that they cannot disagree. Follows
platformdirs (a test compares the two) without importing it, since a hook cannot afford that.
"""

from __future__ import annotations

import os
import sys

from synapse_git import content
from synapse_git.constants import MAX_SOCKET_PATH_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APP = "synapse-git"


def home(env: Mapping[str, str]) -> str:
    """The user's home; without HOME the password database knows it."""
    found = env.get("HOME", "")
    if found.startswith("/"):
        return found
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_dir


def state_dir(env: Mapping[str, str]) -> str:
    """Journal, keys, log, address file: 0700, kept over reboots."""
    return _base(env, "XDG_STATE_HOME", ".local/state")


def data_dir(env: Mapping[str, str]) -> str:
    """What the installation writes for this user: the generic hooks of repositories that set ``core.hooksPath``."""
    return _base(env, "XDG_DATA_HOME", ".local/share")


def _base(env: Mapping[str, str], variable: str, default: str) -> str:
    configured = env.get(variable, "").strip()
    if configured.startswith("/"):
        return f"{configured.rstrip('/') or '/'}/{APP}"
    if sys.platform == "darwin":
        default = "Library/Application Support"
    return f"{home(env).rstrip('/')}/{default}/{APP}"


def address_file(state: str) -> str:
    return state + "/address"


def token_file(state: str) -> str:
    """What proves a client to the hub's loopback listener: 0600, one line."""
    return state + "/token"


def namespaces_file(state: str) -> str:
    """What the hub tells hooks of the namespaces that it shares with others; missing where it shares none."""
    return state + "/namespaces"


def configured(env: Mapping[str, str]) -> str:
    """``SYNAPSE_HUB``: a socket path or URL that replaces the search; then no hub is started."""
    return env.get("SYNAPSE_HUB", "")


def expected(env: Mapping[str, str]) -> str:
    """``SYNAPSE_HUB_ID``: the id that a hub must have to be asked, '' where any will do."""
    return env.get("SYNAPSE_HUB_ID", "")


def recorded(state: str) -> str:
    """The socket path that the last hub wrote down, or ''."""
    try:
        path = content.read(address_file(state), 4096).removesuffix(b"\n")
    except OSError:
        return ""
    # What cannot be a path was not written by a hub: look as if nothing were there, and it is written anew.
    return os.fsdecode(path) if path.startswith(b"/") and b"\0" not in path else ""


def candidates(state: str, env: Mapping[str, str]) -> list[str]:
    """Socket paths for a hub to bind, best first; each fits into ``sockaddr_un``.

    The recorded one leads, so that the address stays the same whatever the next hub's environment is.
    """
    uid = os.geteuid()
    found = [recorded(state)]
    runtime = env.get("XDG_RUNTIME_DIR", "")
    for directory in (runtime, f"/run/user/{uid}" if sys.platform != "darwin" else ""):
        if directory.startswith("/") and owned_private(directory):
            # All hubs of a user share this directory, whatever state each has.
            found.append(f"{directory.rstrip('/')}/{APP}/hub-{_short(state)}.sock")
            break
    found.append(state + "/hub.sock")
    found.append(f"/tmp/{APP}-{uid}-{_short(state)}/hub.sock")  # noqa: S108 - made 0700 and checked by lstat
    return [path for path in found if path and len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES]


def _short(text: str) -> str:
    """Eight characters that tell one state directory from another."""
    import hashlib

    return hashlib.sha256(os.fsencode(text)).hexdigest()[:8]


def owned_private(directory: str) -> bool:
    """A real directory, ours, closed to others."""
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return (found.st_mode & 0o170077) == 0o040000 and found.st_uid == os.geteuid()


def generation_file(state: str, namespace: str, tree: str) -> str:
    """A file that the hub removes whenever it grants in that tree (``tree`` '': the namespace's shared one).

    A hook makes it before it asks; while the same inode stands there, what the hook was told still holds. Two names may
    share one: then it is asked more often than it has to be.
    """
    label = tree or namespace
    plain = label.replace(":", "-").replace("/", "-").replace(".", "-").replace("_", "-")
    if len(plain) > 64 or not plain.replace("-", "").isalnum() or not plain.isascii():
        plain = _short(label) + _short(label + "\0")
    return f"{state}/generations/{'tree' if tree else 'shared'}-{plain}"
