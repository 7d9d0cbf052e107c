"""Put a holder's last content back, where there is no doubt about anything; otherwise leave all as it is."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable, Mapping

from synapse_git import checkout, policy, quarantine, scope
from synapse_git.checkout import Checkout
from synapse_git.errors import SynapseError
from synapse_git.quarantine import Doubt
from synapse_watch import content
from synapse_watch.content import Content
from synapse_watch.kept import Kept
from synapse_watch.picture import Mark
from synapse_watch.report import Edit, Report
from synapse_watch.truth import Truth, Unanswered
from synapse_watch.writes import Count, Writes

# How a file was seen that has changed more than once, or unseen: whose work was in it before nobody can tell.
_MUDDLED: Mark = (-1,)
_MUDDLE = "it has changed more than once, or unseen, so that its holder's own work may be in it"

log = logging.getLogger("synapse_watch")


class Restore:
    """``wanted``: the policy says so, as of the last `consult`."""

    def __init__(self, here: Checkout, env: Mapping[str, str], truth: Truth, report: Report) -> None:
        self._here = here
        self._env = env
        self._truth = truth
        self._report = report
        self._kept = Kept(here.git_dir)
        self._writes = Writes(os.fsencode(here.root))
        # How each file was seen before what is being looked into began, and before the one change of it with its count.
        self._before: dict[bytes, tuple[Mark | None, Mark | None, Count | None]] = {}
        self._counted: dict[bytes, Count] = {}
        self.wanted = False

    def consult(self) -> None:
        """Read the policy again, since all is about to be looked at; what cannot be read wants nothing."""
        before = self.wanted
        try:
            self.wanted = policy.of(checkout.find(self._here.root, self._env)).on_conflict == "restore"
        except SynapseError as error:
            log.warning("%s", error)
            self.wanted = False
        if self.wanted != before:
            (self._writes.begin if self.wanted else self._writes.close)()
        self._writes.rest()
        self._counted.clear()
        if self.wanted:
            self._kept.prune()

    def close(self) -> None:
        self._writes.close()

    def count(self, path: bytes) -> Count:
        """To be taken before a file is looked at, so that a later write is known for one."""
        return self._writes.count(path)

    def before(self, path: bytes, mark: Mark | None, count: Count) -> None:
        """Take note of how a file was seen last, now that it has changed; ``count``: of before it was looked at now."""
        if path in self._before:
            self._before[path] = (self._before[path][0], _MUDDLED, None)
        else:
            self._before[path] = (mark, mark, self._counted.get(path))
        self._counted[path] = count

    def missed(self, path: bytes) -> None:
        """It has changed without an event that told of it, so perhaps more than once."""
        self._before[path] = (_MUDDLED, _MUDDLED, None)

    def former(self, path: bytes) -> Mark:
        """How a file was seen before what is being looked into began, () where it was as Git has it."""
        return self._before.get(path, (None,))[0] or ()

    def approve(self, path: bytes, owner: str, seen: Content | None) -> None:
        """The change is its holder's: what to come back to. ``seen``: what was judged, if it was read."""
        self._before.pop(path, None)
        if self.wanted:
            self._kept.keep(path, self._full(path), owner, seen.mark if seen else None)

    def excuse(self, path: bytes) -> None:
        """The change is nobody's fault, and whose it is nobody knows: there is nothing to come back to."""
        self._before.pop(path, None)
        self._kept.forget(path)

    def forget(self, paths: Iterable[bytes]) -> None:
        """Nothing has to be looked into: Git did it, or ignores it."""
        for path in paths:
            self._before.pop(path, None)

    def settle(self, edit: Edit, seen: Content, moment: tuple[object, ...]) -> tuple[str, str]:
        """The name under which the foreign content is kept, or '' and why all was left as it is, if that was wanted.

        ``moment``: `Truth.moment` when ``seen`` was judged.
        """
        _, before, since = self._before.pop(edit.path, (_MUDDLED, _MUDDLED, None))
        why = ""
        try:
            if self.wanted and edit.by == "agent":
                last = self._last(edit, before, since)
                return self._replace(edit, seen, last, moment), ""
        except (Doubt, Unanswered) as doubt:
            why = str(doubt)
        except OSError as error:
            why = f"it could not be kept: {error}"
        if why:
            log.warning("%s is left as it is: %s", os.fsdecode(edit.path), why)
        self._kept.forget(edit.path)
        return "", why

    def _last(self, edit: Edit, before: Mark | None, since: Count | None) -> tuple[bytes, int]:
        """The holder's content before the change: what was seen then, else what Git had. Raises: Doubt."""
        if before == _MUDDLED or not self._writes.once(edit.path, since):
            raise Doubt(_MUDDLE)
        last = self._truth.staged(edit.path) if before is None else self._kept.last(edit.path, edit.owner, before)
        if last is None:
            raise Doubt("what its holder last had there is not known")
        return last

    def _replace(self, edit: Edit, seen: Content, last: tuple[bytes, int], moment: tuple[object, ...]) -> str:
        data, mode = last
        expected = None if seen.kind == "gone" else seen.sha256
        if expected == "" or seen.kind not in ("file", "gone"):
            raise Doubt("it is no plain file, or is still being written")
        # The hub hears of it first: what comes to stand there is the holder's own.
        self._report.announce(edit.owner, edit.path, hashlib.sha256(data).hexdigest())
        if self._truth.busy() or self._truth.moment() != moment:
            raise Doubt("Git has moved HEAD or the index meanwhile")
        about = {
            "agent": edit.agent,
            "owner": edit.owner,
            "task_id": edit.task_id,
            "namespace": edit.namespace,
            "seen": _seen(seen.mark, moment),
        }
        path = scope.from_bytes(edit.path)
        kept = quarantine.replace(self._here.git_dir, self._here.root, path, data, mode, expected=expected, about=about)
        self._put(kept)
        return kept.name

    def _put(self, kept: quarantine.Entry) -> None:
        """The holder's content is back."""
        path = scope.to_bytes(kept.path)
        self.report(kept)
        self._counted[path] = self._writes.count(path)
        self._kept.keep(path, self._full(path), kept.about["owner"])

    def report(self, kept: quarantine.Entry) -> None:
        """Put on record what was put back. If that fails, the next watcher does it."""
        about = kept.about
        if about.get("task_id") and kept.replaced and not kept.reported:
            path = scope.to_bytes(kept.path)
            self._report.quarantined(about["agent"], about["namespace"], about["task_id"], path, kept.name)
            kept.note_reported()

    def catch_up(self) -> None:
        """Report what a watcher that was killed had put back, and end what it had begun, if all is as it was then."""
        for kept in quarantine.entries(self._here.git_dir):
            if not kept.about.get("task_id") or kept.replaced:
                self.report(kept)
                continue
            mark = content.mark(content.look(self._full(scope.to_bytes(kept.path))))
            same = kept.about.get("seen") == _seen(mark, self._truth.moment()) and not self._truth.busy()
            try:
                if self.wanted and same:
                    self._put(quarantine.again(kept, self._here.git_dir, self._here.root))
                else:
                    quarantine.forget_begun(kept, self._here.root)
            except (Doubt, OSError) as error:
                log.warning("%s is left as it is: %s", scope.show(kept.path), error)

    def _full(self, path: bytes) -> bytes:
        return os.fsencode(self._here.root) + b"/" + path


def _seen(mark: Mark, moment: tuple[object, ...]) -> str:
    """The same as long as neither the file nor HEAD nor the index changes."""
    return hashlib.sha256(repr((mark, moment)).encode()).hexdigest()
