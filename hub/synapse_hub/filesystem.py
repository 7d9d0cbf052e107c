"""On which disks a journal can be trusted."""

from __future__ import annotations

import os
import sys

_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.sshfs", "afs")


class NetworkDisk(OSError):
    """Locks and shared memory do not hold there, so neither would claims."""


def refuse_network_disk(directory: str) -> None:
    """Raises: NetworkDisk, where ``directory`` lies on one."""
    kind = _kind(os.path.realpath(directory))
    if kind in _NETWORK:
        raise NetworkDisk(
            f"{directory} is on a network disk ({kind}), where a journal is not safe. "
            f"Set XDG_STATE_HOME to a directory on a local disk"
        )


def _kind(directory: str) -> str:
    """The file system's type on Linux; '' elsewhere or where it cannot be told."""
    if sys.platform == "darwin":
        return ""
    best, kind = "", ""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            for line in mounts:
                left, _, right = line.partition(" - ")
                point = left.split(" ")[4].replace("\\040", " ")
                if len(point) >= len(best) and (directory + "/").startswith(point.rstrip("/") + "/"):
                    best, kind = point, right.split(" ")[0]
    except (OSError, IndexError):
        return ""
    return kind
