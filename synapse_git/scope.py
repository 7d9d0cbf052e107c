"""What a path is and when two overlap: pure, the one place that knows.

A path here is text, relative to its tree's root, ``/``-separated, without ``.``, ``..`` or empty parts; ``""`` is
the root. Bytes that are not UTF-8 stand as surrogates (PEP 383). Stdlib only: hooks import this.
"""

from __future__ import annotations

from synapse_git.constants import MAX_DECLARED_PATHS, MAX_PATH_BYTES
from synapse_git.errors import InvalidScope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = ""


def from_bytes(raw: bytes) -> str:
    """A path as Git writes it, as text. Never fails."""
    return raw.decode("utf-8", "surrogateescape")


def to_bytes(path: str) -> bytes:
    """The inverse of `from_bytes`. A surrogate that stands for no byte, as JSON may smuggle one in, is replaced."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "replace")


def to_wire(path: str) -> str | dict[str, str]:
    """A path as it travels in JSON: text, or ``{"b64": …}`` where its bytes are not UTF-8."""
    if path.isascii():
        return path
    try:
        path.encode()
    except UnicodeEncodeError:
        import binascii

        return {"b64": binascii.b2a_base64(to_bytes(path), newline=False).decode("ascii")}
    return path


def normalise(path: str) -> str:
    """``path`` in the form in which it is stored and compared.

    Raises:
        InvalidScope: it is absolute, climbs out with ``..``, holds a NUL, or is over `MAX_PATH_BYTES`.
    """
    if "\0" in path:
        raise InvalidScope("a path cannot hold a NUL byte")
    if path.startswith("/"):
        raise InvalidScope(f"{path} is absolute; give it relative to the root of the worktree")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InvalidScope(f"{path} still holds '..'; give it relative to the root of the worktree")
    clean = "/".join(parts)
    if len(to_bytes(clean)) > MAX_PATH_BYTES:
        raise InvalidScope(f"{clean[:60]}… is over {MAX_PATH_BYTES} bytes; claim a directory above it")
    return clean


def declare(paths: Iterable[str]) -> tuple[str, ...]:
    """The path set of a claim: normalised, each once, sorted; ``()`` when any is the root (Spec: INV-ME-4).

    Raises:
        InvalidScope: a path is not usable, or more than `MAX_DECLARED_PATHS` are left.
    """
    clean = {normalise(path) for path in paths}
    if ROOT in clean:
        return ()
    if len(clean) > MAX_DECLARED_PATHS:
        raise InvalidScope(
            f"{len(clean)} paths are declared and {MAX_DECLARED_PATHS} is the limit; claim the directories above them"
        )
    return tuple(sorted(clean))


def covers(outer: str, inner: str) -> bool:
    """Is ``inner`` the same as ``outer`` or beneath it? The root covers everything."""
    return outer == ROOT or inner == outer or inner.startswith(outer + "/")


def upwards(path: str) -> Iterator[str]:
    """``path``, and every directory above it up to the root."""
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path


def overlap(a: str, b: str) -> bool:
    """Spec: INV-ME-2. Symmetric and reflexive."""
    return covers(a, b) or covers(b, a)


def fold(path: str, *, case: bool, compose: bool) -> str:
    """The spelling under which a file system that folds case or composes accents finds the file."""
    if path.isascii():
        return path.lower() if case else path
    if case or compose:
        import unicodedata  # a megabyte of tables, wanted by few names

        if case:
            path = unicodedata.normalize("NFD", path).casefold()
        path = unicodedata.normalize("NFC", path)
    return path


def show(path: str) -> str:
    """``path`` for a person: what cannot be printed is escaped, blanks at the ends are quoted, the root is ``.``."""
    if path == ROOT:
        return "."
    if path.isprintable():
        return path if path == path.strip() else f"'{path}'"
    return "".join(c if c.isprintable() else _escape(c) for c in path)


def _escape(character: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    if named:
        return named
    point = ord(character)
    if 0xDC80 <= point <= 0xDCFF:  # a byte that PEP 383 carries
        return f"\\x{point - 0xDC00:02x}"
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
