"""Small breakages of our own guards, each of which some quick test must notice. Data, and nothing else.

A breakage is one rule taken out or turned round, as an edit of the source text. When a line here no longer fits the
source, adapt it: `test_mutations.py` says which.
"""

from __future__ import annotations

from tests.faults.mutations import core, edits, hooks, hub, shim, talk, team
from tests.faults.tree import Breakage

BREAKAGES: tuple[Breakage, ...] = (
    *core.BREAKAGES,
    *hub.BREAKAGES,
    *hooks.BREAKAGES,
    *shim.BREAKAGES,
    *edits.BREAKAGES,
    *talk.BREAKAGES,
    *team.BREAKAGES,
)


def named(name: str) -> Breakage:
    """The one called so."""
    (found,) = (one for one in BREAKAGES if one.name == name)
    return found
