"""The index of claimed paths: "does anything overlap P?" in O(depth of P), on a persistent tree.

Each node stands for a path and counts, by owner, what is claimed at it or beneath it. A change copies the nodes from
the root to the path and shares the rest, so a reader keeps its own version for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def covering(root: Node, path: str, agent: str) -> Iterator[TaskKey]:
    """Claims of ``agent`` that cover ``path``: at it or above it."""
    node: Node | None = root
    for part in [*_parts(path), None]:
        if node is None or agent not in node.owners:
            return
        for key, owner in node.here.items():
            if owner == agent:
                yield key
        node = node.children.get(part) if part is not None else None


def keys(root: Node) -> set[TaskKey]:
    """Every claim in the tree."""
    found: set[TaskKey] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        found.update(node.here)
        pending.extend(node.children.values())
    return found
