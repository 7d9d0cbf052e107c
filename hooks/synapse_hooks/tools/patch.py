"""Which files a patch names that adds, updates, deletes and moves files, as models write it for ``apply_patch``."""

from __future__ import annotations

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_NAMES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def named(text: str) -> list[str]:
    """The paths, each once, as the patch spells them. Lines of content begin with a sign and never name one."""
    found: dict[str, None] = {}
    for line in text.partition(BEGIN)[2].splitlines():
        if line.strip() == _END:
            break
        for start in _NAMES:
            if line.startswith(start) and (path := line[len(start) :].strip()):
                found[path] = None
    return list(found)
