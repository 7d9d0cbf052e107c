"""One id, one checkout: a copy whose original has moved since cannot tell by itself, the hub's register can."""

from __future__ import annotations

import os

from synapse_git import checkout, client, explain, record
from synapse_git.cli import output, whereabouts
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call


def settle(call: Call, here: Checkout) -> None:
    """Give the checkout, and its repository, an id of its own where another that stands has registered the one it has.

    Call it before an id is used to claim; it costs nothing where the checkout was registered from where it stands.

    Raises:
        SynapseError: the hub cannot be asked, or the git dir cannot be written.
    """
    outer = here.outer
    tree = outer.tree()
    if not tree or whereabouts.unchanged(here):
        return
    other = _registered(call, tree)
    if other is None or other.tree() != tree or os.path.samefile(other.git_dir, outer.git_dir):
        return
    record.renew(outer.git_dir, "worktree")
    shared = outer.namespace()
    if other.namespace() == shared and not os.path.samefile(other.common_dir, outer.common_dir):
        record.renew(outer.common_dir, "repository")
    output.message(f"note: {other.root} has the id that this checkout was copied with, so it has one of its own now")


def _registered(call: Call, tree: str) -> Checkout | None:
    """The checkout at the place that ``tree`` was last registered from, if there is one."""
    for item in client.query(call.hub, "/v2/worktrees").document["worktrees"]:
        if item["worktree"] == tree:
            try:
                return checkout.find(explain.wire_path(item["root"]), call.env)
            except CheckoutError:
                return None
    return None
