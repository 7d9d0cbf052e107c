"""A command line as a shell reads it: words, operators, and the simple commands and groups that they make."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANK = " \t"
_UNCERTAIN = "$`*?[]{}~!"
_SPECIAL = ";&|<>()\n"
_ENDS = (";", "&", "&&", "||", "|", "|&", "\n")
_OPERATORS = ("&>>", "<<<", "<<-", "((", "&&", "||", "|&", "&>", ">>", ">|", ">&", "<&", "<<", "<>")
_WRITING = (">", ">>", ">|", "&>", "&>>", ">&")
_DOCUMENTS = ("<<", "<<-")
_ESCAPED = '$`"\\\n'
BEFORE = frozenset(("then", "do", "else", "if", "elif", "while", "until", "!", "time", "command"))
"""What may stand before a command, which then runs all the same."""
# What makes of all that follows something that is not read here.
_UNREAD = frozenset(("[[", "case", "function", "select", "coproc"))
_OPENING, _CLOSING, _SIMPLE, _STOP = ("(", "{"), (")", "}"), "simple", "stop"


class Token:
    """A word or an operator.

    ``certain``: a word that stands for itself; ``pattern``: for the files that it fits; ``quoted``: in part at least.
    Of a here-document's delimiter, ``tabs``: those before each line do not count; ``body``: the text up to it, None
    where that is expanded first.
    """

    __slots__ = ("body", "certain", "operator", "pattern", "quoted", "tabs", "text")

    def __init__(self, text: str, *, operator: bool = False, certain: bool = True, pattern: bool = False) -> None:
        self.pattern = pattern
        self.text = text
        self.operator = operator
        self.certain = certain
        self.quoted = self.tabs = False
        self.body: str | None = None


class Command:
    """``kind``: '' for a simple one; ``(`` or ``{`` where a group begins, ``)`` or ``}`` where it ends.

    ``words``; ``targets`` of redirections, and what they take ``given`` from; ``end``: the operator after it, '' at
    the end of all.
    """

    __slots__ = ("end", "given", "kind", "targets", "words")

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.words: list[Token] = []
        self.targets: list[Token] = []
        self.given: list[Token] = []
        self.end = ""

    def begins(self) -> bool:
        """May a group begin here, or a word stand that the shell keeps for itself?"""
        return not self.kind and not self.targets and all(word.text in BEFORE for word in self.words)

    def add(self, token: Token, redirection: str) -> None:
        """A word, behind ``redirection`` if that is not ''."""
        descriptor = redirection == ">&" and (token.text == "-" or token.text.rstrip("-").isdigit())
        if not redirection:
            self.words.append(token)
        elif redirection in _WRITING and not descriptor:
            self.targets.append(token)
        elif redirection == "<" or redirection in _DOCUMENTS:
            self.given.append(token)


def commands(text: str, home: str = "") -> Iterator[Command]:
    """The commands of ``text``, one after the other; ``home``: what ``~`` stands for, '' where nobody knows.

    Ends where something begins that is not read here: of a command in the midst of which that is, only the redirections
    count.
    """
    tokens, whole = _tokens(text, home)
    current, redirection, groups = Command(), "", list[str]()
    for token in tokens:
        mark = _mark(token, current, redirection, groups)
        if mark == _STOP:
            whole = False
            break
        if mark:
            current.end = token.text
            yield current
            current, redirection = Command(mark if mark in _CLOSING else ""), ""
            if mark in _OPENING:
                groups.append(mark)
                yield Command(mark)
            elif mark in _CLOSING:
                groups.pop()
        elif token.operator:
            redirection = token.text
        else:
            current.add(token, redirection)
            redirection = ""
    if not whole:
        current.words = []
    yield current


def _mark(token: Token, current: Command, redirection: str, groups: Sequence[str]) -> str:
    """What ends the current command, and which kind begins; '' for a part of it, `_STOP` for what is not read."""
    text = token.text
    if token.operator:
        if (
            redirection
            or text == "(("
            or (text == "(" and not current.begins())
            or (text == ")" and groups[-1:] != ["("])
        ):
            return _STOP
        return text if text in "()" else _SIMPLE if text in _ENDS else ""
    if redirection in (">&", "<&") and (token.quoted or (text.startswith("-") and len(text) > 1)):
        return _STOP  # a name is taken out of its quotes twice, and a dash closes a descriptor, whatever comes after it
    if redirection or token.quoted:
        return ""
    if current.kind or (current.begins() and text in _UNREAD):
        return _STOP
    if text == "{" and current.begins():
        return text
    if text == "}" and not current.words:
        return text if groups[-1:] == ["{"] else _STOP
    return ""


def _tokens(text: str, home: str) -> tuple[list[Token], bool]:
    """The tokens up to what is not read here, and whether that is all."""
    found: list[Token] = []
    documents: list[Token] = []
    at = 0
    while at < len(text):
        c = text[at]
        if c in _BLANK or text.startswith("\\\n", at):
            at += 1 if c in _BLANK else 2
        elif c == "#":
            at = _line_end(text, at)
        elif c in _SPECIAL:
            operator = _operator(text, at)
            found.append(Token(operator, operator=True))
            at += len(operator)
            if c == "\n" and documents:
                at = _read_documents(text, at, documents)
                documents = []
                if at < 0:
                    return found, False
        else:
            token, at = _word(text, at, home)
            if token is None:
                return found, False
            if at < len(text) and text[at] in "<>" and token.text.isdigit() and not token.quoted:
                continue  # the descriptor of a redirection
            if found and found[-1].operator and found[-1].text in _DOCUMENTS:
                token.tabs = found[-1].text == "<<-"
                documents.append(token)
            found.append(token)
    return found, not documents


def _read_documents(text: str, at: int, delimiters: Sequence[Token]) -> int:
    """Give each of ``delimiters`` its text; where what follows them begins, -1 where one of them does not end."""
    for delimiter in delimiters:
        lines: list[str] = []
        while True:
            end = _line_end(text, at)
            line = text[at:end].lstrip("\t") if delimiter.tabs else text[at:end]
            if line == delimiter.text:
                break
            joined = not delimiter.quoted and line.endswith("\\")
            if end == len(text) or joined or not (delimiter.certain or delimiter.quoted):
                return -1
            lines.append(line + "\n")
            at = end + 1
        at = end
        body = "".join(lines)
        if delimiter.quoted or not set("$`\\") & set(body):
            delimiter.body = body
        at += 1 if delimiter is not delimiters[-1] else 0
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _operator(text: str, at: int) -> str:
    for length in (3, 2):
        if text[at : at + length] in _OPERATORS:
            return text[at : at + length]
    return text[at]


def _word(text: str, at: int, home: str) -> tuple[Token | None, int]:
    """The word at ``at`` and where it ends; None if it does not end, or holds what would have to be read by itself."""
    parts: list[str] = []
    certain, plain, quoted = True, True, False
    if home and text[at] == "~" and (text[at + 1 : at + 2] or "/") in f"/{_BLANK}{_SPECIAL}":
        parts.append(home)
        plain, at = False, at + 1
    while at < len(text) and text[at] not in _BLANK + _SPECIAL:
        c = text[at]
        plain = plain and c not in "'\"\\$[]{}~!"
        quoted = quoted or c in "'\"\\"
        if c in "'\"":
            part, sure, at = _quoted(text, at)
            certain = certain and sure
        elif c == "\\":
            part = text[at + 1 : at + 2].strip("\n")  # at the end of a line the word goes on in the next
            at += 2
        elif c == "$":
            part, at = _variable(text, at)
            certain = False
        else:
            certain = certain and c not in _UNCERTAIN
            part = None if c == "`" else c
            at += 1
        if part is None:
            return None, at
        parts.append(part)
    found = Token("".join(parts), certain=certain, pattern=plain and not certain)
    found.quoted = quoted
    return found, at


def _quoted(text: str, at: int) -> tuple[str | None, bool, int]:
    """What is between quotes, whether it stands for itself, and where it ends; None as `_word`."""
    quote, certain = text[at], True
    parts: list[str] = []
    at += 1
    while at < len(text) and text[at] != quote:
        c: str | None = text[at]
        length = 1
        if quote == '"' and c == "\\" and text[at + 1 : at + 2] in tuple(_ESCAPED):
            c, length = text[at + 1].strip("\n"), 2
        elif quote == '"' and c == "$":
            c, end = _variable(text, at)
            certain, length = False, end - at
        elif quote == '"' and c in ("`", "!"):
            c, certain = None if c == "`" else c, False
        if c is None:
            return None, False, at
        parts.append(c)
        at += length
    return ("".join(parts) if at < len(text) else None), certain, at + 1


def _variable(text: str, at: int) -> tuple[str | None, int]:
    """A dollar with the name of what it stands for, and where that ends; None where it is more than a name."""
    if text.startswith(("$(", "$'", '$"'), at):
        return None, at
    if not text.startswith("${", at):
        return "$", at + 1
    end = text.find("}", at)
    name = text[at + 2 : end]
    return (text[at : end + 1], end + 1) if end > 0 and name.isidentifier() else (None, at)
