"""JSON as people write it into settings, comments and trailing commas included: where each value stands in the text.

Nothing is ever written back from what is read here: text is inserted into text, and cut out of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANK = " \t\r\n\ufeff"
_ENDS = ",]}/" + _BLANK


class Broken(ValueError):
    """The text is no JSON; ``line`` counts from 1."""

    def __init__(self, text: str, at: int, what: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}: {what}")


class Node:
    """A value: ``text[start:end]``. ``children``: of an object or array, in order, each with its key ('' in arrays).

    ``begin`` of a child: where its key starts, or the value where it has none.
    """

    __slots__ = ("begin", "children", "end", "key", "start", "value")

    def __init__(self, start: int) -> None:
        self.begin = self.start = start
        self.end = start
        self.key = ""
        self.value: Any = None
        self.children: list[Node] = []

    def child(self, key: str) -> Node | None:
        """The member of that name; of several the last, which is the one that counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)


def parse(text: str) -> Node:
    """The value that ``text`` holds.

    Raises:
        Broken: it holds none, or more than one.
    """
    node = _value(text, skip(text, 0))
    rest = skip(text, node.end)
    if rest < len(text):
        raise Broken(text, rest, "something follows after the end")
    return node


def skip(text: str, at: int) -> int:
    """Where the next token is: after blanks and comments. Raises: Broken."""
    while at < len(text):
        if text[at] in _BLANK:
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise Broken(text, at, "a comment that does not end")
            at = end + 2
        else:
            break
    return at


def _value(text: str, at: int) -> Node:
    if at >= len(text):
        raise Broken(text, at, "the text ends where a value is expected")
    if text[at] in "{[":
        return _container(text, at)
    node = Node(at)
    node.end = _string_end(text, at) if text[at] == '"' else _word_end(text, at)
    node.value = _loads(text, node.start, node.end)
    return node


def _container(text: str, at: int) -> Node:
    node = Node(at)
    members = text[at] == "{"
    closing = "}" if members else "]"
    at = skip(text, at + 1)
    while not text.startswith(closing, at):
        child = _member(text, at) if members else _value(text, at)
        node.children.append(child)
        at = skip(text, child.end)
        if text.startswith(",", at):
            at = skip(text, at + 1)
        elif not text.startswith(closing, at):
            raise Broken(text, at, f"a comma or {closing} is expected")
    node.end = at + 1
    if members:
        node.value = {child.key: child.value for child in node.children}
    else:
        node.value = [child.value for child in node.children]
    return node


def _member(text: str, at: int) -> Node:
    if not text.startswith('"', at):
        raise Broken(text, at, "a name in double quotes is expected")
    end = _string_end(text, at)
    colon = skip(text, end)
    if not text.startswith(":", colon):
        raise Broken(text, colon, "a colon is expected")
    child = _value(text, skip(text, colon + 1))
    child.begin, child.key = at, _loads(text, at, end)
    return child


def _string_end(text: str, at: int) -> int:
    start, at = at, at + 1
    while at < len(text) and text[at] not in '"\n':
        at += 2 if text[at] == "\\" else 1
    if not text.startswith('"', at):
        raise Broken(text, start, "a text that does not end")
    return at + 1


def _word_end(text: str, at: int) -> int:
    while at < len(text) and text[at] not in _ENDS:
        at += 1
    return at


def _loads(text: str, start: int, end: int) -> Any:
    import json  # costs more than all else that a hook imports

    try:
        return json.loads(text[start:end])
    except ValueError:
        raise Broken(text, start, f"{text[start : max(end, start + 1)][:40]!r} is no value") from None
