"""From where a worktree was last registered, kept beside its id: one that was moved since is registered anew."""

from __future__ import annotations

import os

from synapse_git.record import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout


def unchanged(here: Checkout) -> bool:
    """Was the worktree registered from where it stands now?"""
    try:
        with open(_file(here), "rb") as file:
            return file.read() == os.fsencode(here.outer.root)
    except OSError:
        return False


def note(here: Checkout) -> None:
    """It has just been registered. Where that cannot be written down it is registered once more than needed."""
    try:
        with open(_file(here), "wb") as file:
            file.write(os.fsencode(here.outer.root))
    except OSError:
        pass


def _file(here: Checkout) -> str:
    return f"{here.outer.git_dir}/{FOLDER}/root"
