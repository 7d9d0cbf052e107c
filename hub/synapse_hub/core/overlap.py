"""The index of claimed paths: "does anything overlap P?" in O(depth of P), on a persistent tree.

Each node stands for a path and counts, by owner, what is claimed at it or beneath it. A change copies the nodes from
the root to the path and shares the rest, so a reader keeps its own version for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec
from immutables import Map

from synapse_git.scope import ROOT
from synapse_hub.core.claim import TaskKey


class Node(msgspec.Struct, frozen=True):
    """``here``: claims on this very path, with their owners. ``owners``: entries at or beneath it, counted."""

    here: Map[TaskKey, str]
    owners: Map[str, int]
    children: Map[str, Node]


EMPTY = Node(Map(), Map(), Map())


def insert(root: Node, path: str, key: TaskKey, owner: str) -> Node:
    """``root`` with the claim ``key`` of ``owner`` at ``path``."""
    return _change(root, path, key, owner, +1)


def remove(root: Node, path: str, key: TaskKey, owner: str) -> Node:
    """The inverse of `insert`; nodes left empty go."""
    return _change(root, path, key, owner, -1)


def _change(root: Node, path: str, key: TaskKey, owner: str, by: int) -> Node:
    parts = _parts(path)
    trail = [root]
    for part in parts:
        trail.append(trail[-1].children.get(part, EMPTY))
    last = trail[-1]
    here = last.here.set(key, owner) if by > 0 else last.here.delete(key)
    node = Node(here, _count(last.owners, owner, by), last.children)
    for parent, part in zip(reversed(trail[:-1]), reversed(parts), strict=True):
        children = parent.children.set(part, node) if node.owners else parent.children.delete(part)
        node = Node(parent.here, _count(parent.owners, owner, by), children)
    return node


def _count(owners: Map[str, int], owner: str, by: int) -> Map[str, int]:
    left = owners.get(owner, 0) + by
    return owners.set(owner, left) if left else owners.delete(owner)


def _parts(path: str) -> list[str]:
    return path.split("/") if path != ROOT else []


def others(root: Node, path: str, agent: str) -> Iterator[TaskKey]:
    """Claims of anyone but ``agent`` that overlap ``path``: above it first, then at it, then beneath.

    Spec: INV-ME-2, INV-ME-4. A claim of several paths may come more than once.
    """
    node = root
    for part in _parts(path):
        if not foreign(node, agent):
            return
        yield from _here(node, agent)
        child = node.children.get(part)
        if child is None:
            return
        node = child
    pending = [node]
    while pending:
        node = pending.pop()
        if foreign(node, agent):
            yield from _here(node, agent)
            pending.extend(node.children.values())


def foreign(node: Node, agent: str) -> bool:
    """Is anything at or beneath ``node`` claimed by somebody else?"""
    return len(node.owners) > (1 if agent in node.owners else 0)


def _here(node: Node, agent: str) -> Iterator[TaskKey]:
    return (key for key, owner in node.here.items() if owner != agent)


class Sight:
    """What one agent meets at many paths of one tree, each directory on the way looked at once."""

    def __init__(self, root: Node, agent: str) -> None:
        self._agent = agent
        self._root = root
        # directory → its node, if anything is claimed there, and the claims at it or above: others', own.
        self._seen: dict[str, tuple[Node | None, tuple[TaskKey, ...], tuple[TaskKey, ...]]] = {}

    def at(self, path: str) -> tuple[Iterable[TaskKey], tuple[TaskKey, ...]]:
        """Claims of others that overlap ``path``, as `others` gives them; own claims that cover it."""
        directory, slash, name = path.rpartition("/")
        node, foreign_above, own_above = self._directory(directory) if slash else self._top()
        if path == ROOT:
            return others(self._root, ROOT, self._agent), self._own(self._root)
        child = node.children.get(name) if node else None
        if child is None:
            return foreign_above, own_above
        own = own_above + self._own(child)
        if not foreign(child, self._agent):
            return foreign_above, own
        if not child.children:
            return foreign_above + tuple(_here(child, self._agent)), own
        return chain(foreign_above, others(child, ROOT, self._agent)), own

    def _top(self) -> tuple[Node | None, tuple[TaskKey, ...], tuple[TaskKey, ...]]:
        if (seen := self._seen.get(ROOT)) is None:
            seen = self._root, tuple(_here(self._root, self._agent)), self._own(self._root)
            self._seen[ROOT] = seen
        return seen

    def _directory(self, path: str) -> tuple[Node | None, tuple[TaskKey, ...], tuple[TaskKey, ...]]:
        if (seen := self._seen.get(path)) is not None:
            return seen
        found = self._top()
        for part in path.split("/"):
            node, foreign_above, own_above = found
            child = node.children.get(part) if node else None
            if child is not None:
                foreign_above += tuple(_here(child, self._agent))
                own_above += self._own(child)
            found = (child, foreign_above, own_above)
        self._seen[path] = found
        return found

    def _own(self, node: Node) -> tuple[TaskKey, ...]:
        return tuple(key for key, owner in node.here.items() if owner == self._agent)


def keys(root: Node) -> set[TaskKey]:
    """Every claim in the tree."""
    found: set[TaskKey] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        found.update(node.here)
        pending.extend(node.children.values())
    return found
