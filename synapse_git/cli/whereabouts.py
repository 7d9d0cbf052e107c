"""As what a worktree was last registered, kept beside its id: one that was moved or joined a team is so anew."""

from __future__ import annotations

import os

from synapse_git.record import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout


def unchanged(here: Checkout) -> bool:
    """Was the worktree registered from where it stands now, in the namespace that it is in now? Raises as that does."""
    try:
        with open(_file(here), "rb") as file:
            return file.read() == _known(here)
    except OSError:
        return False


def note(here: Checkout) -> None:
    """It has just been registered. Where that cannot be written down it is registered once more than needed."""
    try:
        with open(_file(here), "wb") as file:
            file.write(_known(here))
    except OSError:
        pass


def forget(git_dir: str) -> None:
    """As if the worktree had never been registered."""
    if os.path.lexists(path := _in(git_dir)):
        os.unlink(path)


def _known(here: Checkout) -> bytes:
    return os.fsencode(f"{here.outer.root}\0{here.outer.namespace()}")


def _file(here: Checkout) -> str:
    return _in(here.outer.git_dir)


def _in(git_dir: str) -> str:
    return f"{git_dir}/{FOLDER}/root"
