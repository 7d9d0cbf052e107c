"""What `doctor` finds about the state directory: where nothing can be written no hub starts, and no override counts."""

from __future__ import annotations

import os
import stat

from synapse_git import address
from synapse_git.cli import phrase
from synapse_git.cli.health.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def examine(env: Mapping[str, str]) -> Finding | None:
    """What cannot be written, and what to do about it; None if all can."""
    if address.configured(env):
        return None
    state = address.state_dir(env)
    for path in (state, f"{state}/overrides"):
        if os.path.lexists(path) and not (os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)):
            lost = "no hub can keep its journal there" if path == state else "no override can wait there for a hub"
            return Finding(False, f"{path} cannot be written: {lost}", _opened(path))
    return None


def _opened(path: str) -> str:
    """What makes the directory writable again."""
    try:
        found, volume = os.stat(path), os.statvfs(path)
    except OSError:
        return f"rm {phrase.shell(path)}    It is a link that leads nowhere"
    if not stat.S_ISDIR(found.st_mode):
        return f"move it away: a directory has to be there    mv {phrase.shell(path)} {phrase.shell(path)}.aside"
    if volume.f_flag & os.ST_RDONLY:
        return "its file system is mounted for reading only: have it mounted for writing, or set XDG_STATE_HOME"
    if found.st_uid != os.geteuid():
        return f"it belongs to another user: sudo chown -R {os.geteuid()} {phrase.shell(path)}"
    if found.st_mode & 0o300 != 0o300:
        return f"chmod u+rwx {phrase.shell(path)}"
    return f"it may be protected against changes (lsattr -d shows it): sudo chattr -i {phrase.shell(path)}"
