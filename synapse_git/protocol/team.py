"""How hubs come together and part."""

from __future__ import annotations

from typing import Literal

import msgspec

from synapse_git.protocol.body import Body


class LocalRepository(Body, frozen=True, kw_only=True):
    """A repository with claims of before it was shared: the ``local:`` namespace they are in, the URLs of its remotes.

    ``configured``: the namespace that its own configuration names by now, whatever its remotes.
    """

    namespace: str
    remotes: list[str]
    configured: str = ""


class TeamInitBody(Body, frozen=True, kw_only=True):
    """``listen``: ``HOST:PORT`` for peers; ``name``: what this hub is called among them; '' leaves either as it is.

    ``repositories``: those of this machine with claims in them; ``convert``: have these go on in the namespace.
    """

    namespace: str
    listen: str = ""
    remotes: list[str] = msgspec.field(default_factory=list)
    exclusion: Literal["", "repository", "worktree"] = ""
    name: str = ""
    repositories: list[LocalRepository] = msgspec.field(default_factory=list)
    convert: bool = False


class TeamJoinBody(Body, frozen=True, kw_only=True):
    """``repositories``: those of this machine with claims in them; ``convert``: have the owner take these over."""

    url: str
    token: str
    listen: str = ""
    name: str = ""
    repositories: list[LocalRepository] = msgspec.field(default_factory=list)
    convert: bool = False


class TeamAdmitBody(Body, frozen=True, kw_only=True):
    """A hub that asks to be let in; ``url`` and ``certificate`` are '' where it takes no requests.

    ``look``: it only wants to know into what, and the secret is not used up.
    """

    secret: str
    id: str
    key: str
    url: str = ""
    certificate: str = ""
    look: bool = False


class TeamTransferBody(Body, frozen=True, kw_only=True):
    """``to``: the hub that is to own it; ``from_dead``: this one, and the owner so far is gone for good."""

    namespace: str
    to: str
    from_dead: bool = False


class TeamRemoveBody(Body, frozen=True, kw_only=True):
    namespace: str
    hub: str


class TeamLeaveBody(Body, frozen=True, kw_only=True):
    namespace: str
