"""What a repository wants of its guard: Git's configuration, and a file it may track that can only be stricter.

Readable without the hub. Stdlib only, and light: hooks use it. The parser of the file is loaded where there is one.
"""

from __future__ import annotations

import os

from synapse_git import content
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.checkout import Checkout

FILE = ".synapse.toml"
AUTOMATIC = "auto:"
"""Tasks so called were claimed on behalf of an edit; nobody asked for them by name."""

MAX_FILE_BYTES = 65_536
_KEPT = ("commit", "merge", "manual")
_YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0")


class Key:
    """One policy. ``git``: its name in Git's configuration; ``words``: its values, the strictest last.

    ``table``, ``name``: where it stands in the file; ``typed``: its name in Git as a person types it.
    """

    __slots__ = ("default", "git", "name", "table", "typed", "words")

    def __init__(self, git: str, typed: str, table: str, name: str, words: tuple[str, ...], default: str) -> None:
        self.git = git
        self.typed = typed
        self.table = table
        self.name = name
        self.words = words
        self.default = default


KEYS = (
    Key("synapse.guard.unclaimed", "guard.unclaimed", "guard", "unclaimed", ("allow", "warn", "refuse"), "allow"),
    Key("synapse.guard.hubdown", "guard.hubDown", "guard", "hub_down", ("warn", "refuse"), "refuse"),
    Key("synapse.guard.ownerdown", "guard.ownerDown", "guard", "owner_down", ("warn", "refuse"), "refuse"),
    Key("synapse.guard.autoclaim", "guard.autoClaim", "guard", "auto_claim", ("false", "true"), "true"),
    # Who keeps a claim longer is the stricter one. '': it depends on who took it, see `Policy.release_on`.
    Key("synapse.guard.releaseon", "guard.releaseOn", "guard", "release_on", _KEPT, ""),
    Key("synapse.guard.prepush", "guard.prePush", "guard", "pre_push", ("off", "warn", "refuse"), "warn"),
    Key("synapse.watch.onconflict", "watch.onConflict", "watch", "on_conflict", ("report", "restore"), "report"),
)


class Policy:
    """What holds in one checkout; each value is one of the words of its `Key`.

    ``tracked``: what the tracked file tightened, by name; ``looser``: keys of it that would have weakened the guard,
    and therefore do not count.
    """

    __slots__ = ("_kept_until", "_values", "looser", "tracked")

    def __init__(
        self, values: dict[str, str], tracked: Mapping[str, str] | None = None, looser: tuple[str, ...] = ()
    ) -> None:
        self._values = values
        self.tracked = tracked or {}
        self._kept_until = self.tracked.get("release_on", "commit")
        self.looser = looser

    def word(self, key: Key) -> str:
        """What holds for ``key``; '' where that depends on the claim."""
        return self.tracked.get(key.name) or self._values[key.name]

    @property
    def unclaimed(self) -> str:
        """What is said of a change that no claim of its author covers: ``allow``, ``warn`` or ``refuse``."""
        return self._values["unclaimed"]

    @property
    def hub_down(self) -> str:
        """Whether a change goes in that no hub can judge: ``refuse`` or ``warn``."""
        return self._values["hub_down"]

    @property
    def owner_down(self) -> str:
        """The same where this hub answers, but the owner of the namespace does not."""
        return self._values["owner_down"]

    @property
    def auto_claim(self) -> bool:
        """Does an edit of a free path claim it?"""
        return self._values["auto_claim"] == "true"

    def release_on(self, task_id: str) -> str:
        """When the claim of a task goes back by itself: ``manual`` (never), ``commit`` or ``merge``."""
        usual = self._values["release_on"] or ("commit" if task_id.startswith(AUTOMATIC) else "manual")
        return max(usual, self._kept_until, key=_KEPT.index)

    @property
    def releases(self) -> bool:
        """Do claims go back by themselves that somebody took by name?"""
        return self.release_on("") != "manual"

    @property
    def pre_push(self) -> str:
        """What happens to a push of what others hold: ``off``, ``warn`` or ``refuse``."""
        return self._values["pre_push"]

    @property
    def on_conflict(self) -> str:
        """What the watcher does about an edit of what others hold: ``report`` or ``restore``."""
        return self._values["on_conflict"]


def of(here: Checkout) -> Policy:
    """The policy of a checkout whose settings were read. A submodule has its superproject's.

    Raises:
        CheckoutError: a value that is none, naming where it stands and what to type.
    """
    _check_names(here.settings)
    values = {key.name: _configured(key, here.settings) for key in KEYS}
    path = f"{here.outer.root}/{FILE}"
    if not os.path.lexists(path):
        return Policy(values)
    return _tightened(values, _read(path))


def _check_names(settings: Mapping[str, str]) -> None:
    known = {key.git for key in KEYS}
    for name in settings:
        if name.startswith(("synapse.guard.", "synapse.watch.")) and name not in known:
            raise CheckoutError(
                f"{name} in Git's configuration is no setting that this version knows. "
                f"Take it out: git config --unset {name}"
            )


def _configured(key: Key, settings: Mapping[str, str]) -> str:
    given = settings.get(key.git)
    if given is None:
        return key.default
    value = _word(key, given)
    if value not in key.words:
        known = ", ".join(key.words)
        raise CheckoutError(
            f"synapse.{key.typed} = {given} in Git's configuration is none of {known}. "
            f"See where it is set: git config --show-origin synapse.{key.typed}    "
            f"Then set it: git config synapse.{key.typed} {key.default or 'manual'}"
        )
    return value


def _word(key: Key, given: str) -> str:
    word = given.lower()
    if key.words == ("false", "true"):
        return "true" if word in _YES else "false" if word in _NO else given
    return word


def _tightened(values: dict[str, str], given: Mapping[str, str]) -> Policy:
    """``values``, stricter wherever the file is."""
    tracked, looser = {}, []
    for key in KEYS:
        wanted = given.get(key.name, "")
        # What is not set at all says less than any word.
        if wanted and key.words.index(wanted) < key.words.index(values[key.name] or "merge"):
            looser.append(f"{key.table}.{key.name}")
        elif wanted and wanted != values[key.name]:
            tracked[key.name] = wanted
    stricter = {name: word for name, word in tracked.items() if name != "release_on"}
    return Policy(values | stricter, tracked, tuple(looser))


def _read(path: str) -> dict[str, str]:
    """The policies that the file names: checked, by name."""
    from tomllib import TOMLDecodeError, loads

    try:
        found = content.read(path, MAX_FILE_BYTES + 1)
        if len(found) > MAX_FILE_BYTES:
            raise CheckoutError(f"{path} is over {MAX_FILE_BYTES} bytes. Make it shorter")
        text = found.decode("utf-8-sig")  # editors of Windows begin a file with a mark
        document = loads(text)
    except OSError as error:
        raise CheckoutError(f"cannot read {path}: {error.strerror}. Make it a file that can be read") from error
    except UnicodeDecodeError as error:
        raise CheckoutError(f"{path} is not UTF-8. Write it anew") from error
    except (TOMLDecodeError, RecursionError) as error:
        raise CheckoutError(f"{path} is not TOML: {error}. Mend it") from error
    return _checked(document, path, text)


def _checked(document: Mapping[str, Any], path: str, text: str) -> dict[str, str]:
    known = {(key.table, key.name): key for key in KEYS}
    found = {}
    for table, entries in document.items():
        if not isinstance(entries, dict) or table not in {key.table for key in KEYS}:
            raise _invalid(path, text, table, f"{table} is no table of it. There are [guard] and [watch]")
        for name, value in entries.items():
            key = known.get((table, name))
            if key is None:
                names = ", ".join(other for other_table, other in known if other_table == table)
                raise _invalid(path, text, name, f"{table}.{name} is no policy. In [{table}] there are {names}")
            word = ("true" if value else "false") if isinstance(value, bool) else value
            if word not in key.words or isinstance(value, bool) != (key.words == ("false", "true")):
                words = ", ".join(key.words if isinstance(value, bool) or "true" in key.words else map(repr, key.words))
                raise _invalid(path, text, name, f"{table}.{name} = {value!r} is none of {words}")
            found[name] = word
    return found


def _invalid(path: str, text: str, name: str, what: str) -> CheckoutError:
    """The parser keeps no lines; the first that begins with the name is the one."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip(" \t[\"'").startswith(name):
            return CheckoutError(f"{path}, line {number}: {what}. Mend it")
    return CheckoutError(f"{path}: {what}. Mend it")
