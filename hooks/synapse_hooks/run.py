"""One run of a hook: what Git told it, and where that is."""

from __future__ import annotations

import os

from synapse_git import settings
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from synapse_git.checkout import Checkout
    from synapse_git.git import Question
    from synapse_git.policy import Policy

# Of Git's variables a hook inherits, those that say where things are. The others trace, run or redirect something.
_PLACES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DEFAULT_HASH",
    "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)

_POLICIES = ("synapse.guard.", "synapse.watch.")
_POLICY_FILE = "/.synapse.toml"


class Run:
    """``moment``: the hook's name; ``parent``: Git's pid; ``generic``: the directory of the user's own hooks or ''.

    ``env``: the environment as Git left it; ``asking``: the same for questions about the very repository that the
    hook runs in.
    """

    __slots__ = ("asking", "env", "generic", "moment", "parent")

    def __init__(self, moment: str, parent: int, generic: str, env: Mapping[str, str]) -> None:
        self.moment = moment
        self.parent = parent
        self.generic = generic
        self.env = env
        self.asking = {
            key: value
            for key, value in env.items()
            if not key.startswith("GIT_") or key in _PLACES or key.startswith("GIT_CONFIG")
        }
        self.asking["LC_ALL"] = "C"
        # What an object really holds, and not what somebody has it stand for here.
        self.asking["GIT_NO_REPLACE_OBJECTS"] = "1"

    def hub(self, here: Checkout) -> Mapping[str, str]:
        """The environment that leads to the hub which grants in the repository of ``here``.

        Raises:
            HubUnreachable: it is another than can be asked from here.
        """
        from synapse_git import binding

        return binding.under(self.env, here.outer.common_dir)

    def ask_settings(self) -> Question:
        """Have Git read its configuration, which takes as long as it takes us to load what comes next."""
        return settings.question(self.asking)

    def read_settings(self, here: Checkout, question: Question | None = None) -> None:
        """Fill in the configuration of ``here``, from what `ask_settings` started if that was done.

        A submodule has its superproject's already.

        Raises:
            CheckoutError: Git cannot read it.
        """
        if question is None:
            if here.outer is not here:
                return
            question = self.ask_settings()
        status, output, complaint = question.finish()
        if here.outer is not here:
            return
        if status > 1:
            raise CheckoutError(f"git cannot read its configuration: {complaint.removeprefix('fatal: ')}")
        here.settings = settings.parsed(output)

    def warn_if_displaced(self, here: Checkout) -> None:
        """Say that hooks are gone which judge earlier, judge more, and leave an operation in a better state."""
        # The user's own directory is nobody else's to fill.
        if not self.generic and here.outer is here and (why := here.displaced()):
            say(f"{why}. Put it back: synapse-git install")


def policy_of(here: Checkout) -> Policy | None:
    """The policy of ``here``, whose settings were read; None: nobody has set any, so that each has its default.

    Raises:
        CheckoutError: a value that is none.
    """
    if not any(key.startswith(_POLICIES) for key in here.settings) and not os.path.lexists(
        here.outer.root + _POLICY_FILE
    ):
        return None  # and the import is saved
    from synapse_git import policy

    return policy.of(here)


def say(text: str) -> None:
    """To standard error, which Git passes on to whoever typed the command; one that listens no more changes nothing."""
    try:  # noqa: SIM105 - contextlib would cost each hook its import
        os.write(2, f"synapse-git: {text}\n".encode("utf-8", "backslashreplace"))
    except BrokenPipeError:
        pass
