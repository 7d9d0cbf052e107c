"""What was found where somebody else's content belongs: kept under a name of its own, in the worktree's git dir.

`replace` is the one way in which a file of a user's is overwritten, and it overwrites nothing: what stands there and
what is to stand there change places in one step of the file system, after a synced copy of the former was made. A
process that is killed anywhere in between leaves either of them in place and the other one here.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from synapse_git import scope, spot
from synapse_git.errors import CheckoutError
from synapse_git.record import FOLDER
from synapse_git.swap import exchange

# Larger files are not kept, and therefore not replaced.
MAX_BYTES = 4 * 1024 * 1024
_ABOUT, _FOUND, _SWAP, _REPORTED = "entry.json", "found", "swap", "reported"


class Doubt(CheckoutError):
    """Not replaced, since something is not as it was when that was decided. The text says what."""


class Entry:
    """``name``: what it is called. ``path``: where it stood, relative to the root. ``about``: the circumstances.

    ``agent``: who wrote what is kept; ``owner``, ``task_id``, ``namespace``: the claim it was written into, '' where
    something was overwritten on request; ``seen``: of the watcher that wrote it. ``at``: Unix seconds.
    """

    __slots__ = ("about", "directory", "name")

    def __init__(self, directory: str, name: str, about: Mapping[str, Any]) -> None:
        self.directory = directory
        self.name = name
        self.about = about

    @property
    def path(self) -> str:
        return scope.from_bytes(bytes.fromhex(self.about["path"]))

    @property
    def replaced(self) -> bool:
        """Does something else stand in its place? Not where its writer was killed on the way there."""
        try:
            with open(f"{self.directory}/{_SWAP}", "rb") as file:
                return _digest(file.read()) != str(self.about["put"])
        except OSError:
            return True

    @property
    def reported(self) -> bool:
        return os.path.exists(f"{self.directory}/{_REPORTED}")

    def note_reported(self) -> None:
        """The hub has it on record."""
        os.close(os.open(f"{self.directory}/{_REPORTED}", os.O_WRONLY | os.O_CREAT, 0o600))

    def found(self) -> bytes | None:
        """The content that is kept; None: the file was gone. Raises: OSError."""
        if self.about["sha256"] is None:
            return None
        with open(self.file, "rb") as file:
            return file.read()

    @property
    def file(self) -> str:
        """Where it is kept."""
        return f"{self.directory}/{_FOUND}"

    def document(self) -> dict[str, Any]:
        """For people and programs."""
        about = {key: value for key, value in self.about.items() if key not in ("path", "seen")}
        return {
            "name": self.name,
            "path": scope.to_wire(self.path),
            **about,
            "replaced": self.replaced,
            "file": self.file,
        }


def entries(git_dir: str) -> list[Entry]:
    """All that is kept, oldest first. What was being written when its writer was killed is not among it."""
    folder = _folder(git_dir)
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        try:
            with open(f"{folder}/{name}/{_ABOUT}", "rb") as file:
                about = json.load(file)
        except (OSError, ValueError):
            continue
        found.append(Entry(f"{folder}/{name}", name, about))
    return sorted(found, key=lambda one: float(one.about["at"]))


def entry(git_dir: str, name: str) -> Entry:
    """The one called ``name``. Raises: CheckoutError."""
    for one in entries(git_dir):
        if one.name == name:
            return one
    raise CheckoutError(f"nothing is kept as {name} here. See what is: synapse-git quarantine list")


def replace(
    git_dir: str, root: str, path: str, content: bytes, mode: int, *, expected: str | None, about: Mapping[str, Any]
) -> Entry:
    """Have ``content`` stand at ``path`` below ``root``, and keep what stands there now.

    ``expected``: the SHA-256 of that, None: nothing; ``mode``: the permissions of ``content``; ``about``: see `Entry`.

    Raises:
        Doubt: it is not as expected, beyond a link, or not to be replaced in one step; then it is as it was.
        OSError: the copy cannot be made; then it is as it was, too.
    """
    with _reached(root, path, make=expected is None) as (directory, name):
        found = _read(name, directory) if expected is not None else None
        if (found is None) != (expected is None) or (found is not None and _digest(found) != expected):
            raise Doubt("it has changed again")
        facts = {"path": scope.to_bytes(path).hex(), "sha256": expected, "put": _digest(content), "at": time.time()}
        kept = _keep(git_dir, found, content, mode, {**about, **facts})
        swap = os.fsencode(f"{kept.directory}/{_SWAP}")
        try:
            if found is None:
                os.link(swap, name, dst_dir_fd=directory)
                os.unlink(swap)
                return kept
            exchange(swap, name, directory)
        except OSError as error:
            _drop(kept)
            raise Doubt(f"it cannot be replaced in one step ({error.strerror})") from error
        if _read(swap) != found:
            exchange(swap, name, directory)  # somebody wrote between the look and the exchange: that stays where it is
            _drop(kept)
            raise Doubt("it was written to meanwhile")
        _retire(swap, kept)
        return kept


def _retire(swap: bytes, kept: Entry) -> None:
    """Keep the file itself: whoever has it open may go on writing into it."""
    descriptor = os.open(swap, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    os.rename(swap, kept.file)


def again(kept: Entry, git_dir: str, root: str) -> Entry:
    """Replace what the writer of ``kept`` was killed before it replaced; the entry that stands for it now.

    Raises: as `replace`; then ``kept`` is gone, and all else as it was.
    """
    swap = f"{kept.directory}/{_SWAP}"
    with open(swap, "rb") as file:
        content, mode = file.read(), os.fstat(file.fileno()).st_mode
    expected, about = kept.about["sha256"], dict(kept.about)
    _drop(kept)
    return replace(git_dir, root, kept.path, content, mode, expected=expected, about=about)


def forget_begun(kept: Entry, root: str) -> None:
    """Drop an entry whose writer was killed before anything was replaced, if its content is still there."""
    try:
        if not kept.replaced and standing(root, kept.path)[0] == kept.about["sha256"]:
            _drop(kept)
    except Doubt:
        pass


def standing(root: str, path: str) -> tuple[str | None, int]:
    """The SHA-256 of what stands at ``path`` below ``root`` and its mode; None where nothing does. Raises: Doubt."""
    try:
        with _reached(root, path) as (directory, name):
            mode = os.lstat(name, dir_fd=directory).st_mode
            found = _read(name, directory)
    except FileNotFoundError:
        return None, 0o644
    if found is None:
        raise Doubt("what stands there is no plain file, or cannot be read. Move it away, and try again")
    return _digest(found), mode


@contextmanager
def _reached(root: str, path: str, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
    """`spot.of`. Raises: Doubt where a link or a file is on the way, FileNotFoundError where nothing is."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(spot.of(os.fsencode(root), scope.to_bytes(path), make=make))
        except (NotADirectoryError, PermissionError) as error:
            directory = scope.show(os.path.dirname(path))
            raise Doubt(f"{directory} is a link, a file, or closed to you. Move it away, and try again") from error
        yield found


def _read(path: bytes, directory: int | None = None) -> bytes | None:
    """The content of a plain file; None for anything else. Raises: Doubt, where it is too large to be kept."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, dir_fd=directory)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        if found.st_size > MAX_BYTES or found.st_nlink > 1:
            raise Doubt(f"it is over {MAX_BYTES} bytes, or has another name besides")
        return file.read()


def _keep(git_dir: str, found: bytes | None, content: bytes, mode: int, facts: Mapping[str, Any]) -> Entry:
    """A whole entry on the disk, with what is to be put in place ready beside what is kept."""
    folder = _folder(git_dir)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = time.strftime("%Y%m%d-%H%M%S-") + os.urandom(3).hex()
    draft = f"{folder}/.{name}"
    os.mkdir(draft, 0o700)
    if found is not None:
        _write(f"{draft}/{_FOUND}", found, 0o600)
    _write(f"{draft}/{_SWAP}", content, mode & 0o777)
    _write(f"{draft}/{_ABOUT}", json.dumps(facts).encode(), 0o600)
    _sync(draft)
    os.rename(draft, f"{folder}/{name}")
    for directory in (folder, os.path.dirname(folder), git_dir):
        _sync(directory)
    return Entry(f"{folder}/{name}", name, facts)


def _drop(kept: Entry) -> None:
    """Forget an entry whose content stands where it stood."""
    for name in (_ABOUT, _SWAP, _FOUND):
        if os.path.lexists(f"{kept.directory}/{name}"):
            os.unlink(f"{kept.directory}/{name}")
    os.rmdir(kept.directory)


def _write(path: str, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def _sync(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _folder(git_dir: str) -> str:
    return f"{git_dir}/{FOLDER}/quarantine"
