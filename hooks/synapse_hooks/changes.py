"""What a commit or merge would change, by Git's own word: the index it names, against its parents.

Paths are kept as Git writes them, NUL-terminated bytes, so that thirty thousand cost no more than they must.
"""

from __future__ import annotations

from synapse_git import git, scope
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.checkout import Checkout

_STAGED = (
    "diff-index",
    "--cached",
    "--no-renames",
    "--name-only",
    "-z",
    "--no-relative",
    "--ignore-submodules=none",
    "--ita-invisible-in-index",
)


class Staged:
    """The paths in which the index differs from each of ``parents`` (``HEAD`` first), asked all at once.

    Known after `finish`: ``paths``, what differs from ``HEAD``; ``unborn``: there is no commit yet.
    """

    __slots__ = ("_env", "_questions", "paths", "unborn")

    def __init__(self, env: Mapping[str, str], parents: Sequence[str]) -> None:
        self._env = env
        self.paths = b""
        self.unborn = False
        self._questions = [git.Question([*_STAGED, parent, "--"], env) for parent in parents]

    def finish(self) -> tuple[bytes, bytes]:
        """What differs from ``HEAD``, and what differs from every parent.

        Raises:
            CheckoutError: Git cannot tell.
        """
        answers = [question.finish() for question in self._questions]
        if answers[0][0]:
            answers[0] = self._first_commit(answers[0][2])
        for status, _, complaint in answers:
            if status:
                raise CheckoutError(f"git cannot tell what this changes: {complaint.removeprefix('fatal: ')}")
        self.paths = first = answers[0][1]
        if len(answers) == 1:
            return first, first
        others = [frozenset(output.split(b"\0")) for _, output, _ in answers[1:]]
        shared = [path for path in first.split(b"\0")[:-1] if all(path in paths for paths in others)]
        return first, b"".join(path + b"\0" for path in shared)

    def _first_commit(self, complaint: str) -> tuple[int, bytes, str]:
        """Before the first commit everything in the index is new."""
        if git.ask(["rev-parse", "--quiet", "--verify", "HEAD"], self._env)[0] == 0:
            return 128, b"", complaint
        self.unborn = True
        return git.ask([*_STAGED, empty_tree(self._env), "--"], self._env)


def empty_tree(env: Mapping[str, str]) -> str:
    """The name of the tree without entries, which depends on the repository's hash."""
    return git.ask(["hash-object", "-t", "tree", "/dev/null"], env)[1].decode("ascii").strip()


def spelled(paths: bytes, here: Checkout) -> bytes:
    """``paths``, relative to the root of ``here``, as its tree's claims are compared: same number, same order."""
    if not paths or not (here.prefix or here.folds()):
        return paths
    text = scope.from_bytes(paths[:-1])
    if here.prefix:
        text = f"{here.prefix}/" + text.replace("\0", f"\0{here.prefix}/")
    # Folding knows no path: it treats each stretch between NULs as if that stood alone.
    return scope.to_bytes(here.fold(text)) + b"\0"
