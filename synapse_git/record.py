"""The id of a worktree or repository: a small file in its own git dir, and whether it is still the truth.

Beside the id stand device, inode and path of the git dir it was made for. The same inode means the same checkout,
however it is reached (``git worktree move``, a renamed parent, a bind mount, a symlink). Another inode while the
recorded git dir still stands where it was means that this one is a copy: it gets an id of its own.
"""

from __future__ import annotations

import os

from synapse_git.errors import CheckoutError

FOLDER = "synapse"
_ID_BYTES = 10


def lookup(git_dir: str, name: str) -> str:
    """The id kept under ``name``, or '' where none was made or the one found belongs to another git dir."""
    found = _read(git_dir, name)
    if found is None:
        return ""
    identity, device, inode, path = found
    here = os.stat(git_dir)
    if (here.st_dev, here.st_ino) == (device, inode):
        if path != git_dir and os.access(f"{git_dir}/{FOLDER}", os.W_OK):
            _write(git_dir, name, identity, exclusive=False)  # moved: a copy made later must find this place taken
        return identity
    if _stands(path, device, inode):
        return ""
    return identity


def ensure(git_dir: str, name: str) -> str:
    """The id kept under ``name``, made if need be. Safe against others who do the same now.

    Raises:
        CheckoutError: the git dir cannot be written.
    """
    if identity := lookup(git_dir, name):
        _write_if_stale(git_dir, name, identity)
        return identity
    copied = _read(git_dir, name) is not None
    _write(git_dir, name, os.urandom(_ID_BYTES).hex(), exclusive=not copied)
    return lookup(git_dir, name)


def renew(git_dir: str, name: str) -> None:
    """Have a fresh id kept under ``name``: another git dir has the one that was. Raises as `ensure`."""
    _write(git_dir, name, os.urandom(_ID_BYTES).hex(), exclusive=False)


def _write_if_stale(git_dir: str, name: str, identity: str) -> None:
    found = _read(git_dir, name)
    here = os.stat(git_dir)
    if found and found[1:] != (here.st_dev, here.st_ino, git_dir):
        _write(git_dir, name, identity, exclusive=False)


def _stands(path: str, device: int, inode: int) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (device, inode)


def _read(git_dir: str, name: str) -> tuple[str, int, int, str] | None:
    try:
        with open(f"{git_dir}/{FOLDER}/{name}", "rb") as file:
            identity, numbers, path = file.read(8192).split(b"\n", 2)
        device, inode = numbers.split()
        return identity.decode("ascii"), int(device), int(inode), os.fsdecode(path)
    except (OSError, ValueError):
        return None


def _write(git_dir: str, name: str, identity: str, *, exclusive: bool) -> None:
    """Put the record in place whole. ``exclusive``: another's, made meanwhile, is left alone."""
    target = f"{git_dir}/{FOLDER}/{name}"
    draft = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
    here = os.stat(git_dir)
    text = f"{identity}\n{here.st_dev} {here.st_ino}\n".encode() + os.fsencode(git_dir)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.write(descriptor, text)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            if exclusive:
                os.link(draft, target)
            else:
                os.replace(draft, target)
        except FileExistsError:
            pass
        finally:
            if os.path.lexists(draft):
                os.unlink(draft)
    except OSError as error:
        raise CheckoutError(f"cannot write {target}: {error.strerror}. Make the git dir writable") from error
