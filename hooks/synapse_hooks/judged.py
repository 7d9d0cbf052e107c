"""Judged once: what lets the later hooks of one Git operation pass without starting Python again.

A passed check leaves a record that names the Git process it ran for, and pins by hard links what the verdict rested
on: the index, and a file per tree that the hub removes when it grants there. While all links lead to the same files,
and the index was not written to, the verdict holds. What another hub grants removes no file here: there it rests on
that hub's word, which the record says the end of. The shims read the record; whatever goes wrong here only means that
they ask again.
"""

from __future__ import annotations

import os
import time

from synapse_git.errors import HubUnreachable
from synapse_git.record import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout
    from synapse_hooks.run import Run

_NAME = "judged"
_INDEX = "judged-index"
# What the shims keep of one Git process: which directory of hooks is displaced, that its commit was refused, what was
# said to it, and which index a hook of others' was given.
_GIVEN = "given"
_SHIMS = ("displaced", "refused", "told", _GIVEN)
OVERRIDDEN, HELD = "overridden", "held"
"""Files beside these: see `waiver` and `omission`."""
SETTLE = "settle"
"""A file in a git dir: claims are to go back here, so the hook that comes after a commit has something to do."""

# A pin that lost its worktree goes after this time. Losing one that is in use costs one more check.
_STALE_S = 7 * 86400.0
# One clock tells the shims when another hub's word ends, and only so far ahead is it trusted alone.
_LONGEST_S = 30.0


class Judgement:
    """One verdict in the making. Pin first, then judge, then `write`.

    ``git_dir``: of the checkout that is judged; ``index``: the file that Git names.
    """

    def __init__(self, git_dir: str, index: str, run: Run) -> None:
        self._folder = f"{git_dir}/{FOLDER}"
        self._index = index
        self._run = run
        self._pins: list[str] = []
        self._stamp = 0
        self._sound = True
        self._elsewhere = False
        self._began = 0.0

    def pin_index(self) -> None:
        """Call before the index is read."""
        if not self._sound:
            return
        target = f"{self._folder}/{_INDEX}"
        try:
            os.makedirs(self._folder, exist_ok=True)
            if os.path.islink(self._index):
                raise OSError("what a link leads to may change under a pin")
            _link(self._index, target)
            self._stamp = os.stat(target).st_mtime_ns
        except OSError:
            self._sound = False

    def pin_trees(self, here: Checkout, namespace: str, tree: str) -> None:
        """Call before the hub is asked. ``tree`` '': no claim was ever made in the tree of ``here``."""
        # The shims see an id that is made in this very git dir, not one in a superproject's.
        self._sound = self._sound and bool(namespace) and bool(tree or here.outer is here)
        self._elsewhere = here.owned_elsewhere()
        self._began = _uptime() if self._elsewhere else 0.0
        if not self._sound:
            return
        from synapse_git import address

        former = self._former()
        try:
            hub = self._run.hub(here)
            if address.configured(hub):
                raise OSError("a hub that is named may keep its state elsewhere")
            state = address.state_dir(hub)
            owner = tree.removeprefix("wt:") or f"{os.stat(self._folder).st_ino:x}"
            _make_private(state, os.path.dirname(address.generation_file(state, namespace, tree)))
            if tree:
                self._pins += _pin(address.generation_file(state, namespace, tree), owner, former)
            else:
                self._pins += ["", ""]
            self._pins += _pin(address.generation_file(state, namespace, ""), owner, former)
        except (OSError, HubUnreachable):
            self._sound = False

    def write(self, covered_s: float) -> None:
        """The change may go in. ``covered_s``: for how long another hub's word stands, if one grants here."""
        from synapse_hooks import process

        started = process.started(self._run.parent, self._run.env)
        parent = str(self._run.parent)
        if self._elsewhere and covered_s != float("inf"):
            self._sound = self._sound and covered_s > 0 and self._began > 0
            # In the line of the process, so that a shim from before this was written finds another process there.
            parent += f" {int(self._began + min(covered_s, _LONGEST_S))}"
        lines = [parent, started, self._index, *self._pins]
        if not self._sound or not started or any("\n" in line for line in lines):
            return
        draft = f"{self._folder}/{_NAME}.draft"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, os.fsencode("\n".join(lines) + "\n"))
            finally:
                os.close(descriptor)
            # The time of the index that was judged: by it the shims see one that was rewritten in its place since.
            os.utime(draft, ns=(self._stamp, self._stamp))
            os.replace(draft, f"{self._folder}/{_NAME}")
            # The verdict is on what that hook has left.
            if os.path.lexists(given := f"{self._folder}/{_GIVEN}"):
                os.unlink(given)
        except OSError:
            pass

    def _former(self) -> list[str]:
        """The lines of the last record, whose pins serve again if they still hold."""
        try:
            with open(f"{self._folder}/{_NAME}", "rb") as file:
                return os.fsdecode(file.read(65536)).split("\n")
        except OSError:
            return []


def expect(git_dir: str) -> None:
    """Have the hook that runs after the next commit look for claims to give back."""
    try:
        os.makedirs(f"{git_dir}/{FOLDER}", exist_ok=True)
        os.close(os.open(f"{git_dir}/{FOLDER}/{SETTLE}", os.O_WRONLY | os.O_CREAT, 0o644))
    except OSError:
        pass  # a claim that does not go back by itself runs out


def forget(git_dir: str) -> None:
    """Remove what hooks left in a checkout whose guard is taken away."""
    for name in (_NAME, _INDEX, *_SHIMS, SETTLE, OVERRIDDEN, HELD):
        if os.path.lexists(f"{git_dir}/{FOLDER}/{name}"):
            os.unlink(f"{git_dir}/{FOLDER}/{name}")


def _pin(path: str, owner: str, former: list[str]) -> list[str]:
    """``path``, made if it is missing, and what the name of a link to it has in addition, never used for another file.

    A shell reads byte by byte, so the record is kept short.

    Raises:
        OSError: also when a grant removed ``path`` in between.
    """
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
    prefix = f".{owner}."
    for pin in former:
        if pin.startswith(prefix) and _same(path, path + pin):
            return [path, pin]
    pin = prefix + os.urandom(6).hex()
    os.link(path, path + pin)
    _sweep(path + prefix, (path, path + pin))
    return [path, pin]


def _sweep(prefix: str, kept: tuple[str, str]) -> None:
    """Remove this checkout's former pins of the file, and what nobody has renewed for long."""
    horizon = time.time() - _STALE_S
    with os.scandir(os.path.dirname(prefix)) as entries:
        for entry in entries:
            try:
                if entry.path not in kept and (entry.path.startswith(prefix) or entry.stat().st_mtime < horizon):
                    os.unlink(entry.path)
            except FileNotFoundError:
                pass


def _make_private(*directories: str) -> None:
    for directory in directories:
        if not os.path.isdir(directory):
            os.makedirs(directory, mode=0o700, exist_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        if not os.path.samefile(source, target):
            os.unlink(target)
            os.link(source, target)


def _uptime() -> float:
    """Seconds since the machine started, as the shims can read them; 0 where they cannot."""
    try:
        with open("/proc/uptime", "rb") as file:
            return float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
