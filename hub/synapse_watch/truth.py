"""What Git says of a checkout: asked in a child that may be killed, and that runs nothing of the repository's own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence, Set

from synapse_git import git
from synapse_git.checkout import Checkout
from synapse_git.errors import CheckoutError
from synapse_watch.picture import above

# No monitor, no hooks, no locks that a user's command may need, no fetching of what is missing.
_SETTINGS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_DEADLINE_S = 120.0
# A lock file older than this was left behind by a Git that died.
_STALE_LOCK_S = 60.0
# Attributes by which a file differs from what the index holds of it.
_CONVERTING = ("filter", "text", "eol", "crlf", "ident", "working-tree-encoding")
_LOCKS = ("index.lock", "HEAD.lock")
_OPERATIONS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "rebase-merge", "rebase-apply")
# Paths named on one command line.
_MOST_SPECS = 500


class Unanswered(Exception):
    """Git did not answer, or not in time."""


class Truth:
    """Questions about one checkout. Paths are bytes, relative to its root."""

    def __init__(self, here: Checkout, env: Mapping[str, str]) -> None:
        self._here = here
        self._env = {**git.scrubbed(env), "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}

    def busy(self) -> bool:
        """Is Git in the midst of moving files, index or HEAD?"""
        for name in _LOCKS:
            try:
                age = time.time() - os.stat(f"{self._here.git_dir}/{name}").st_mtime
            except OSError:
                continue
            if age < _STALE_LOCK_S:
                return True
        return False

    def interrupted(self) -> bool:
        """Is a merge, or whatever else ends in a commit, under way?"""
        return any(os.path.lexists(f"{self._here.git_dir}/{name}") for name in _OPERATIONS)

    def commit(self, name: str) -> str:
        """The commit that ``HEAD`` or a reference names; '' where there is none."""
        if name != "HEAD" and not os.path.lexists(f"{self._here.common_dir}/logs/{name}"):
            return ""
        status, output = self._ask(["rev-parse", "-q", "--verify", f"{name}^{{commit}}"])
        return output.decode("ascii").strip() if status == 0 else ""

    def head_mark(self) -> tuple[object, ...]:
        """Changes whenever HEAD may have moved; costs no process."""
        here = self._here
        head = _small(f"{here.git_dir}/HEAD")
        reference = head.removeprefix(b"ref: ").strip()
        loose = b""
        if reference != head.strip():
            loose = _small(os.fsencode(here.common_dir) + b"/" + reference)
        tables = (f"{here.common_dir}/packed-refs", f"{here.common_dir}/reftable/tables.list")
        return (head, loose, *(_stamp(path) for path in (*tables, f"{here.git_dir}/reftable/tables.list")))

    def index_mark(self) -> tuple[int, ...]:
        """Changes whenever the index does."""
        return _stamp(f"{self._here.git_dir}/index")

    def moment(self) -> tuple[object, ...]:
        """Changes whenever HEAD or the index may have moved."""
        return (self.head_mark(), self.index_mark())

    def dirty(self, paths: Sequence[bytes] = ()) -> dict[bytes, bytes]:
        """What differs from index or HEAD, and what is untracked and not ignored: path → its two letters.

        ``paths``: of those only.
        """
        specs = _specs(paths)
        output = self._must(
            [
                *("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"),
                *(["--", *specs] if len(specs) <= _MOST_SPECS else []),
            ]
        )
        found = {entry[3:]: entry[:2] for entry in output.split(b"\0")[:-1]}
        return {path: found[path] for path in paths if path in found} if paths else found

    def same(self, tree: str, paths: Sequence[bytes]) -> set[bytes]:
        """Those of ``paths`` that stand as ``tree`` has them; none where there is no such tree."""
        specs = _specs(paths)
        if len(specs) > _MOST_SPECS:
            return set()
        status, output = self._ask(["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree])
        if status:
            return set()
        differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", tree, "--"]
        return set(paths).intersection(output.split(b"\0")) - set(self._must([*differ, *specs]).split(b"\0"))

    def between(self, old: str, new: str) -> set[bytes]:
        """Paths in which two commits differ; '' is the empty tree."""
        if not (old and new):
            output = self._must(["ls-tree", "-r", "-z", "--name-only", "--full-tree", old or new])
        else:
            output = self._must(["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id", old, new])
        return set(output.split(b"\0")[:-1])

    def staged(self, path: bytes) -> tuple[bytes, int] | None:
        """The content of a file in the index and its mode, None where that is not what would stand in the work tree:
        no plain file, conflicts, or anything that converts it on the way."""
        spec = os.fsdecode(b":(top,literal)" + path)
        listed = self._must(["ls-files", "-s", "-z", "--", spec]).split(b"\0")[:-1]
        converted = self._must(["check-attr", "-z", "--stdin", *_CONVERTING], path + b"\0").split(b"\0")[2::3]
        automatic = self._ask(["config", "--get", "core.autocrlf"])[1].strip()
        mode, oid, rest = listed[0].split(b" ", 2) if len(listed) == 1 else (b"", b"", b"")
        plain = mode in (b"100644", b"100755") and rest.startswith(b"0\t")
        if not plain or set(converted) - {b"unspecified"} or automatic not in (b"", b"false"):
            return None
        return self._must(["cat-file", "blob", oid.decode("ascii")]), int(mode, 8)

    def tracked(self, paths: Set[bytes]) -> list[bytes]:
        """The files of the index that are at or beneath ``paths``."""
        if not paths:
            return []
        specs = _specs(sorted(paths)) if len(paths) <= _MOST_SPECS else []
        listed = self._must(["ls-files", "-z", "--", *specs]).split(b"\0")[:-1]
        return [one for one in listed if one in paths or any(directory in paths for directory in above(one))]

    def ignored(self, paths: Sequence[bytes]) -> set[bytes]:
        """Those of ``paths`` that Git ignores. A tracked file is never ignored."""
        found = self._excluded(paths) if paths else set()
        if found:
            found -= set(self._must(["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"]).split(b"\0"))
        return found

    def _excluded(self, paths: Sequence[bytes]) -> set[bytes]:
        """Those of ``paths`` that some pattern excludes, tracked or not: told otherwise, Git goes through the whole
        index for each of them.
        """
        given = b"".join(path + b"\0" for path in paths)
        status, output = self._ask(["check-ignore", "--no-index", "-z", "--stdin"], given)
        if status <= 1:
            return set(output.split(b"\0")[:-1])
        if len(paths) == 1:
            return set()
        # It gives up at a path beneath a link or in a submodule, and says nothing of the others.
        half = len(paths) // 2
        return self._excluded(paths[:half]) | self._excluded(paths[half:])

    def _must(self, arguments: list[str], given: bytes = b"") -> bytes:
        status, output = self._ask(arguments, given)
        if status:
            raise Unanswered(f"git {arguments[0]} ended with {status}")
        return output

    def _ask(self, arguments: list[str], given: bytes = b"") -> tuple[int, bytes]:
        """Raises: Unanswered."""
        try:
            program = git.program(self._env)
            ended = subprocess.run(
                [program, "-C", self._here.root, *_SETTINGS, *arguments],
                env=self._env,
                input=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_DEADLINE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unanswered(f"git {arguments[0]} took longer than {_DEADLINE_S:.0f} s") from None
        except (OSError, CheckoutError) as error:
            raise Unanswered(str(error)) from error
        return ended.returncode, ended.stdout


def _specs(paths: Sequence[bytes]) -> list[str]:
    return [os.fsdecode(b":(top,literal)" + path) for path in paths]


def _small(path: str | bytes) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns)
