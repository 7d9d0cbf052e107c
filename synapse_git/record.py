"""The id of a worktree or repository: a small file in its own git dir, and whether it is still the truth.

Beside the id stand device, inode and path of the git dir it was made for. The same inode means the same checkout,
however it is reached (``git worktree move``, a renamed parent, a bind mount, a symlink). Another inode while the
recorded git dir still stands where it was means that this one is a copy: it gets an id of its own.

The id is all that claims hang on: without it everything in the checkout would be free, and nobody would say so. A
second copy stands outside of our folder and takes the first one's place; one that nobody can read is no fresh start.
"""

from __future__ import annotations

import os

from synapse_git import content
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

FOLDER = "synapse"
_ID_BYTES = 10
_MOST_BYTES = 16384


def lookup(git_dir: str, name: str) -> str:
    """The id kept under ``name``, or '' where none was made or the one found belongs to another git dir.

    Raises:
        CheckoutError: one was made and cannot be read any more.
    """
    found = _read(git_dir, name)
    if found is None:
        return ""
    identity, device, inode, path = found
    here = os.stat(git_dir)
    if (here.st_dev, here.st_ino) == (device, inode):
        if path != git_dir and os.access(f"{git_dir}/{FOLDER}", os.W_OK):
            put(git_dir, name, identity)  # moved: a copy made later must find this place taken
        return identity
    if _stands(path, device, inode):
        return ""
    return identity


def ensure(git_dir: str, name: str) -> str:
    """The id kept under ``name``, made if need be. Safe against others who do the same now.

    Raises:
        CheckoutError: the git dir cannot be written, or what is kept there cannot be read.
    """
    if identity := lookup(git_dir, name):
        _write_if_stale(git_dir, name, identity)
        return identity
    copied = _read(git_dir, name) is not None
    first, second = copies(git_dir, name)
    _write(first, _text(git_dir, os.urandom(_ID_BYTES).hex()), exclusive=not copied)
    if identity := lookup(git_dir, name):
        _write(second, _text(git_dir, identity))
    return identity


def renew(git_dir: str, name: str) -> None:
    """Have a fresh id kept under ``name``: another git dir has the one that was. Raises as `ensure`."""
    put(git_dir, name, os.urandom(_ID_BYTES).hex())


def put(git_dir: str, name: str, identity: str) -> None:
    """Have ``identity`` kept under ``name``, whatever was there. Raises as `ensure`."""
    keep(git_dir, name, _text(git_dir, identity))


def _write_if_stale(git_dir: str, name: str, identity: str) -> None:
    wanted = _text(git_dir, identity)
    if any(_raw(path) != wanted for path in copies(git_dir, name)):
        put(git_dir, name, identity)


def _stands(path: str, device: int, inode: int) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (device, inode)


def copies(git_dir: str, name: str) -> tuple[str, str]:
    """Where what is kept under ``name`` stands: in our folder, and outside of it."""
    return f"{git_dir}/{FOLDER}/{name}", f"{git_dir}/{FOLDER}.{name}"


def keep(git_dir: str, name: str, text: bytes) -> None:
    """Have both copies under ``name`` hold ``text``. Raises as `ensure`."""
    for target in copies(git_dir, name):
        _write(target, text)


def drop(git_dir: str, name: str) -> None:
    """Keep nothing under ``name``. Raises as `ensure`."""
    for path in copies(git_dir, name):
        try:
            os.unlink(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise CheckoutError(f"cannot remove {path}: {error.strerror}. Make the git dir writable") from error


def recall(git_dir: str, name: str, parsed: Callable[[bytes], T | None], lost: str) -> T | None:
    """What is kept under ``name``, as ``parsed`` reads it; None where nothing ever was.

    The second copy takes the place of a first one that was lost.

    Raises:
        CheckoutError: as ``lost`` says of the file that is its ``{}``, neither copy can be read.
    """
    first, second = copies(git_dir, name)
    raw = _raw(first)
    if raw and (found := parsed(raw)):
        return found
    spare = _raw(second)
    if spare and (found := parsed(spare)):
        if os.access(git_dir, os.W_OK):
            _write(first, spare)
        return found
    if raw is None and spare is None:
        return None
    raise CheckoutError(lost.format(first))


def _read(git_dir: str, name: str) -> tuple[str, int, int, str] | None:
    """What is kept under ``name``, None where nothing ever was.

    Raises:
        CheckoutError: neither copy can be read.
    """
    return recall(
        git_dir,
        name,
        _parsed,
        f"the id of this {name}, by which its claims are known, cannot be read from {{}}, "
        "so nobody can tell what is held here. Get it back: synapse-git doctor --fix",
    )


def _raw(path: str) -> bytes | None:
    """The content of a record; None where there is none."""
    try:
        return content.read(path, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return b""


def _parsed(raw: bytes) -> tuple[str, int, int, str] | None:
    try:
        identity, numbers, path = raw.split(b"\n", 2)
        device, inode = numbers.split()
        if len(bytes.fromhex(identity.decode("ascii"))) != _ID_BYTES:
            return None
        return identity.decode("ascii"), int(device), int(inode), os.fsdecode(path)
    except ValueError:
        return None


def _text(git_dir: str, identity: str) -> bytes:
    here = os.stat(git_dir)
    return f"{identity}\n{here.st_dev} {here.st_ino}\n".encode() + os.fsencode(git_dir)


def _write(target: str, text: bytes, *, exclusive: bool = False) -> None:
    """Put the record in place whole. ``exclusive``: another's, made meanwhile, is left alone."""
    draft = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
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
