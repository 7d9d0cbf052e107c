"""Which hub grants in a repository: written down when it first did, so that nobody asks another one unawares.

Another HOME or XDG_STATE_HOME leads to another hub, which knows of no claim and would let everything through; so does
the usual one where the state directory was lost. The one that is written down is asked instead; where that cannot be,
nobody is. Stdlib only: hooks use it.
"""

from __future__ import annotations

import os

from synapse_git import address, record
from synapse_git.errors import AnotherHub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "hub"
_LOST = (
    "which hub grants in this repository cannot be read from {}, so nobody can tell whom to ask. "
    "If it is that of your usual HOME, have it written down anew: synapse-git install"
)


class Binding:
    """``state``: the hub's state directory, '' for one that SYNAPSE_HUB named; ``hub_id``; ``socket``: where it was."""

    __slots__ = ("hub_id", "socket", "state")

    def __init__(self, state: str, hub_id: str, socket: str) -> None:
        self.state = state
        self.hub_id = hub_id
        self.socket = socket


def of(env: Mapping[str, str], hub_id: str) -> Binding:
    """To the hub that ``env`` leads to, whose id is known from an answer."""
    state = address.state_dir(env)
    usual, chosen = address.recorded(state), address.configured(env)
    # A URL is that of the hub whose token lies in the state directory.
    other = chosen and chosen != usual and "://" not in chosen
    return Binding("", hub_id, chosen) if other else Binding(state, hub_id, usual)


def read(common_dir: str) -> Binding | None:
    """That of the repository, None where nobody granted anything yet.

    Raises:
        CheckoutError: it was written down, and neither copy can be read.
    """
    return record.recall(common_dir, NAME, _parsed, _LOST)


def _parsed(raw: bytes) -> Binding | None:
    fields = os.fsdecode(raw).split("\0")
    return Binding(*fields) if len(fields) == 3 and fields[1] and (fields[0] or fields[2]) else None


def write(common_dir: str, made: Binding) -> None:
    """Have hooks and claims of the repository ask that hub from now on.

    Raises:
        CheckoutError: the git dir cannot be written.
    """
    record.keep(common_dir, NAME, os.fsencode(f"{made.state}\0{made.hub_id}\0{made.socket}"))


def confirm(env: Mapping[str, str], common_dir: str, hub_id: str) -> None:
    """The hub ``hub_id``, to which ``env`` leads, has granted in the repository. Raises as `write` does."""
    bound = read(common_dir)
    if bound is None or bound.hub_id != hub_id or not os.path.lexists(record.copies(common_dir, NAME)[1]):
        write(common_dir, of(env, hub_id))


def forget(common_dir: str) -> None:
    """The repository is anybody's again. Raises as `write` does."""
    record.drop(common_dir, NAME)


def under(env: Mapping[str, str], common_dir: str) -> Mapping[str, str]:
    """``env``, changed so that it leads to the hub that grants in the repository, and that no other one answers.

    Raises:
        AnotherHub: that hub cannot be asked from here; who else could be knows nothing.
        CheckoutError: which one it is cannot be read.
    """
    bound = read(common_dir)
    if bound is None:
        return env
    led = {**env, "SYNAPSE_HUB_ID": bound.hub_id}
    # One hub may be reached in several ways, out of a container for example.
    if address.configured(env) or bound.state == address.state_dir(env):
        return led
    place = bound.state or bound.socket
    try:
        owner = os.stat(place).st_uid
    except OSError as error:
        raise AnotherHub(_stranded(env, bound, f"cannot be reached from here ({error.strerror})")) from error
    if owner != os.geteuid():
        raise AnotherHub(_stranded(env, bound, f"is that of uid {owner}, not yours"))
    if bound.state:
        return {**led, "XDG_STATE_HOME": os.path.dirname(bound.state)}
    return {**led, "SYNAPSE_HUB": bound.socket}


def _stranded(env: Mapping[str, str], bound: Binding, why: str) -> str:
    return (
        f"claims in this repository are granted by the hub of {bound.state or bound.socket}, which {why}. "
        f"The hub of {address.state_dir(env)} knows nothing of them. "
        "Use the HOME and XDG_STATE_HOME that belong to it, or name its socket: SYNAPSE_HUB=PATH. "
        "If it is gone for good, have this one grant here: synapse-git install"
    )
