"""What an examination finds, one thing at a time."""

from __future__ import annotations


class Finding:
    """``ok``: True, False, or None for a remark; ``what`` was found; ``fix``: what to type, '' where nothing helps;
    ``mendable``: is it wrong, and does ``doctor --fix`` do something about it?
    """

    __slots__ = ("fix", "mendable", "ok", "what")

    def __init__(self, ok: bool | None, what: str, fix: str = "", *, mendable: bool = False) -> None:
        self.ok = ok
        self.what = what
        self.fix = fix
        # What an error says to type may be just that.
        self.mendable = ok is False and (mendable or "doctor --fix" in what)

    def document(self) -> dict[str, object]:
        return {"ok": self.ok, "what": self.what, "fix": self.fix}

    def lines(self) -> str:
        mark = {True: "ok   ", False: "WRONG", None: "note "}[self.ok]
        return f"{mark} {self.what}" + (f"\n      do: {self.fix}" if self.fix else "")
