"""A command line as a shell reads it: words, operators, and the simple commands that they make."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK = " \t"
_UNCERTAIN = "$`*?[]{}~!"
_WRITING = (">", ">>", ">|", "&>", "&>>")
_ENDS = (";", "&", "&&", "||", "|", "|&", "\n")


class Token:
    """A word or an operator. ``certain``: a word that stands for itself; ``pattern``: for the files that it fits."""

    __slots__ = ("certain", "operator", "pattern", "text")

    def __init__(self, text: str, *, operator: bool = False, certain: bool = True, pattern: bool = False) -> None:
        self.pattern = pattern
        self.text = text
        self.operator = operator
        self.certain = certain


def commands(text: str) -> Iterator[tuple[list[Token], list[Token], str]]:
    """The simple commands of ``text``: words, targets of redirections, and the operator after it ('' at the end).

    Ends where something begins that is not read here.
    """
    words: list[Token] = []
    targets: list[Token] = []
    pending = ""
    for token in _tokens(text):
        if token.operator and token.text in _ENDS:
            yield words, targets, token.text
            words, targets, pending = [], [], ""
        elif token.operator:
            pending = token.text
        elif not words and token.text == "[[":
            return
        elif pending:
            if pending in _WRITING:
                targets.append(token)
            pending = ""
        else:
            words.append(token)
    yield words, targets, ""


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    document = False  # the line names a here-document, whose text begins on the next
    while at < len(text):
        c = text[at]
        if c in _BLANK or text.startswith("\\\n", at):
            at += 1 if c in _BLANK else 2
        elif c == "#":
            at = _line_end(text, at)
        elif c in "()":
            return
        elif c in ";&|<>\n":
            if c == "\n" and document:
                return
            operator = _operator(text, at)
            document = document or (operator.startswith("<<") and operator != "<<<")
            yield Token(operator, operator=True)
            at += len(operator)
        else:
            token, at = _word(text, at)
            if token is None:
                return
            if at < len(text) and text[at] in "<>" and token.text.isdigit():
                continue  # the descriptor of a redirection
            yield token


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _operator(text: str, at: int) -> str:
    for length in (3, 2):
        if text[at : at + length] in ("&>>", "<<<", "<<-", "&&", "||", "|&", "&>", ">>", ">|", ">&", "<&", "<<", "<>"):
            return text[at : at + length]
    return text[at]


def _word(text: str, at: int) -> tuple[Token | None, int]:
    """The word at ``at`` and where it ends; None if it does not end, or holds what would have to be read by itself."""
    parts: list[str] = []
    certain, plain = True, True
    while at < len(text) and text[at] not in " \t\n;&|<>()":
        c = text[at]
        if c == "`" or text.startswith(("${", "$'", '$"'), at):
            return None, at
        plain = plain and c not in "'\"\\$[]{}~!"
        if c == "'":
            end = text.find("'", at + 1)
            if end < 0:
                return None, at
            parts.append(text[at + 1 : end])
            at = end + 1
        elif c == '"':
            end = text.find('"', at + 1)
            inside = text[at + 1 : end]
            if end < 0 or any(start in inside for start in ("\\", "`", "$(", "${")):
                return None, at
            certain = certain and not set("$!") & set(inside)
            parts.append(inside)
            at = end + 1
        elif c == "\\":
            parts.append(text[at + 1 : at + 2].strip("\n"))  # at the end of a line the word goes on in the next
            at += 2
        else:
            certain = certain and c not in _UNCERTAIN
            parts.append(c)
            at += 1
    return Token("".join(parts), certain=certain, pattern=plain and not certain), at
