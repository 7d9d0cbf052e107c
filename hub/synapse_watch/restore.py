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
from synapse_watch.content import Content
from synapse_watch.kept import Kept
from synapse_watch.picture import Mark
from synapse_watch.report import Edit, Report
from synapse_watch.truth import Truth, Unanswered

# How a file was seen that changed while nobody watched: as the watcher before saw it last, if it kept that.
_UNSEEN: Mark = (-1,)
# And one that changed more than once, or unseen: whose work was in it before nobody can tell.
_MUDDLED: Mark = (-2,)

log = logging.getLogger("synapse_watch")


class Restore:
    """``wanted``: the policy says so, as of the last `consult`."""

    def __init__(self, here: Checkout, env: Mapping[str, str], truth: Truth, report: Report) -> None:
        self._here = here
        self._env = env
        self._truth = truth
        self._report = report
        self._kept = Kept(here.git_dir)
        # How each file was seen before the change that is being looked into.
        self._before: dict[bytes, Mark | None] = {}
        self.wanted = False

    def consult(self) -> None:
        """Read the policy again; what cannot be read wants nothing."""
        try:
            self.wanted = policy.of(checkout.find(self._here.root, self._env)).on_conflict == "restore"
        except SynapseError as error:
            log.warning("%s", error)
            self.wanted = False
        if self.wanted:
            self._kept.prune()

    def before(self, path: bytes, mark: Mark | None) -> None:
        """Take note of how a file was seen last, now that it has changed."""
        self._before[path] = _MUDDLED if path in self._before else mark

    def missed(self, path: bytes) -> None:
        """It has changed without an event that told of it, so perhaps more than once."""
        self._before[path] = _MUDDLED

    def unfinished(self, path: bytes) -> bool:
        """Was something else than what Git has seen there before the change that is being looked into?"""
        return bool(self._before.get(path))

    def resume(self, path: bytes) -> None:
        """It has changed since another watcher ended, perhaps in the midst of putting it back."""
        self._before[path] = _UNSEEN

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

    def settle(self, edit: Edit, seen: Content, moment: tuple[object, ...]) -> str:
        """The name under which the foreign content is kept, '' where all was left as it is.

        ``moment``: `Truth.moment` when ``seen`` was judged.
        """
        before = self._before.pop(edit.path, ())
        try:
            if self.wanted and edit.by == "agent" and before not in ((), _MUDDLED):
                content = self._last(edit, before)
                if content:
                    return self._replace(edit, seen, content, moment)
        except (Doubt, Unanswered) as doubt:
            log.warning("%s is left as it is: %s", os.fsdecode(edit.path), doubt)
        except OSError as error:
            log.warning("%s is left as it is, since it could not be kept: %s", os.fsdecode(edit.path), error)
        self._kept.forget(edit.path)
        return ""

    def _last(self, edit: Edit, before: Mark | None) -> tuple[bytes, int] | None:
        """The holder's content before the change: what was seen then, else what Git had."""
        if before is None:
            return self._truth.staged(edit.path)
        return self._kept.last(edit.path, edit.owner, None if before == _UNSEEN else before)

    def _replace(self, edit: Edit, seen: Content, content: tuple[bytes, int], moment: tuple[object, ...]) -> str:
        data, mode = content
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
        }
        path = scope.from_bytes(edit.path)
        kept = quarantine.replace(self._here.git_dir, self._here.root, path, data, mode, expected=expected, about=about)
        self.report(kept)
        self._kept.keep(edit.path, self._full(edit.path), edit.owner)
        return kept.name

    def report(self, kept: quarantine.Entry) -> None:
        """Put on record what was put back. If that fails, the next watcher does it."""
        about = kept.about
        if about.get("task_id") and kept.replaced and not kept.reported:
            path = scope.to_bytes(kept.path)
            self._report.quarantined(about["agent"], about["namespace"], about["task_id"], path, kept.name)
            kept.note_reported()

    def catch_up(self) -> None:
        """Report what a watcher that was killed had put back, and forget what it had only begun to."""
        for kept in quarantine.entries(self._here.git_dir):
            if kept.about.get("task_id") and not kept.replaced:
                quarantine.forget_begun(kept, self._here.root)
            else:
                self.report(kept)

    def _full(self, path: bytes) -> bytes:
        return os.fsencode(self._here.root) + b"/" + path
