"""One command as it was asked: its values, its environment, the place it acts in and the name it acts under."""

from __future__ import annotations

import os

from synapse_git import binding, checkout, client, identity
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from synapse_git.checkout import Checkout


class Call:
    """The values of a verb by key, read through accessors that know their types; ``env`` as it was inherited."""

    __slots__ = ("_checkout", "_homeless", "_values", "env")

    def __init__(self, values: Mapping[str, object], env: Mapping[str, str]) -> None:
        self._values = values
        self.env = env
        self._checkout: Checkout | None = None
        self._homeless = False

    def flag(self, key: str) -> bool:
        return self._values[key] is True

    def text(self, key: str) -> str:
        """'' where it was not given: no option takes an empty value."""
        value = self._values[key]
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> float | None:
        value = self._values[key]
        return value if isinstance(value, int | float) else None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._values[key]
        return value if isinstance(value, tuple) else ()

    @property
    def json(self) -> bool:
        return self.flag("json")

    def directory(self) -> str:
        """Where the command acts, absolute: ``-C DIR``, else the current directory.

        Raises:
            CheckoutError: there is no such directory.
        """
        given = self.text("directory")
        try:
            full = os.path.join(os.getcwd(), given) if given else os.getcwd()
        except OSError:
            full = given
            if not os.path.isabs(given):
                raise CheckoutError("the current directory is gone. Go into another, or name one: -C DIR") from None
        if not os.path.isdir(full):
            raise CheckoutError(f"-C {given}: there is no such directory")
        return full

    def checkout(self) -> Checkout:
        """The checkout the command acts in.

        Raises:
            CheckoutError: there is none.
        """
        if self._checkout is None:
            self._checkout = checkout.find(self.directory(), self.env)
        return self._checkout

    def checkout_if_any(self) -> Checkout | None:
        """The checkout, or None outside of any.

        Raises:
            CheckoutError: ``-C`` names no directory.
        """
        if self._homeless:
            return None
        try:
            return self.checkout()
        except CheckoutError:
            if self.text("directory"):
                self.directory()
            self._homeless = True
            return None

    @property
    def hub(self) -> Mapping[str, str]:
        """The environment that leads to the hub which grants where the command acts.

        Raises:
            HubUnreachable: it is another than can be asked from here.
        """
        here = self.checkout_if_any()
        return binding.under(self.env, here.outer.common_dir) if here else self.env

    def agent(self) -> str:
        """The name the command acts under.

        Raises:
            UsageError: the name given cannot be used.
        """
        here = self.checkout_if_any()
        explicit = self._values["agent"]
        name = identity.who(
            explicit if isinstance(explicit, str) else None, self.env, here.outer.git_dir if here else ""
        )
        client.ASKER.agent = name
        return name
