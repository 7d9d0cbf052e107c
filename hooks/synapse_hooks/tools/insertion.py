"""Put a member or an item into a JSON text, and take it out again, without touching a byte of what others wrote."""

from __future__ import annotations

import json
from typing import Any

from synapse_git import jsonc
from synapse_git.jsonc import Node

_UNIT = "  "


class Inserted:
    """``text`` with ``segment`` in it, which stood nowhere before."""

    __slots__ = ("segment", "text")

    def __init__(self, text: str, segment: str) -> None:
        self.text = text
        self.segment = segment


def insert(text: str, container: Node, key: str, value: Any) -> Inserted:
    """Make ``value`` the first child of ``container``; ``key`` '' for an array.

    First, since nothing of what follows then needs another comma than it has.
    """
    first = container.children[0] if container.children else None
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    if first and "\n" not in text[container.start : first.begin]:
        segment = f"{name}{json.dumps(value, ensure_ascii=False)}, "
        return _at(text, first.begin, segment)
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent(text, container.start)
    inner = _indent(text, first.begin) if first else outer + _unit(text)
    pretty = json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", newline + inner)
    segment = newline + inner + name + pretty
    if first:
        segment += ","
    elif "\n" not in text[container.start : container.end]:
        segment += newline + outer
    return _at(text, _after_opening(text, container.start), segment)


def whole(value: Any) -> str:
    """A text of its own."""
    return json.dumps(value, ensure_ascii=False, indent=_UNIT) + "\n"


def cut(text: str, segments: list[str]) -> str | None:
    """``text`` without ``segments``, the last inserted first; None if one of them is not there exactly once."""
    for segment in reversed(segments):
        if text.count(segment) != 1:
            return None
        text = text.replace(segment, "")
    return text


def remove(text: str, child: Node) -> str:
    """``text`` without ``child``, the comma that it needs, and the blanks before it."""
    begin, end = child.begin, child.end
    while text[begin - 1] in " \t\r\n":
        begin -= 1
    follows = jsonc.skip(text, end)
    if text.startswith(",", follows):
        end = follows + 1
        if text[begin - 1] in "[{" and "\n" not in text[begin : child.begin]:
            while text[end] in " \t":  # of a list on one line
                end += 1
            begin = child.begin
    elif text[begin - 1] == ",":
        begin -= 1
    return text[:begin] + text[end:]


def _at(text: str, at: int, segment: str) -> Inserted:
    return Inserted(text[:at] + segment + text[at:], segment)


def _after_opening(text: str, start: int) -> int:
    """Behind the bracket, and behind a comment that ends its line."""
    line = text.find("\n", start)
    rest = text[start + 1 : line if line >= 0 else len(text)].rstrip("\r")
    bare = rest.strip(" \t")
    comment = bare.startswith("//") or (bare.startswith("/*") and bare.find("*/") == len(bare) - 2)
    return start + 1 + len(rest) if comment else start + 1


def _indent(text: str, at: int) -> str:
    """The blanks that the line of ``at`` begins with."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """By what the text indents its outermost members."""
    root = jsonc.parse(text)
    first = root.children[0] if root.children else None
    return (first and "\n" in text[root.start : first.begin] and _indent(text, first.begin)) or _UNIT
