"""One checkout under watch: from what the file system says to what is told of it."""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from synapse_git.checkout import Checkout
from synapse_git.errors import SynapseError
from synapse_watch import attempt, content, origin, stream
from synapse_watch.content import Content
from synapse_watch.doubts import Doubts
from synapse_watch.origin import Origin
from synapse_watch.picture import Mark, Picture, above
from synapse_watch.report import Edit, Report
from synapse_watch.restore import Restore
from synapse_watch.stream import Stream, Unwatchable
from synapse_watch.truth import Truth, Unanswered

# After the last event all is looked at once more, but a look takes this small a share of the time at most.
_TRAILING_S = 2.0
_LOOK_SHARE = 20
# Without any event all the same, and more often where events are known to be missing.
_NOW_AND_THEN_S = 300.0
_DEGRADED_S = 5.0
_BUSY_POLL_S = 0.02
# The longest sleep, after which a request to stop is noticed.
_LONGEST_S = 1.0
# How long to wait for a hub or a Git that does not answer.
_UNANSWERED_S = 1.0

log = logging.getLogger("synapse_watch")


class Patrol:
    """``tell`` is called with each edit in another's scope and the name under which it is kept, '' where it was left,
    and then why, if it was to be put back.

    ``stand`` with each new state and the reason for it, and again every ``repeat_s``; ``settle`` with how many files
    Git moved along with HEAD, once for each move.
    ``since``: what changed from then on (Unix seconds) and before the watch began counts as well.
    """

    def __init__(
        self,
        here: Checkout,
        env: Mapping[str, str],
        *,
        tell: Callable[[Edit, str, str], None],
        stand: Callable[[str, str], None],
        settle: Callable[[int], None] = lambda _: None,
        repeat_s: float = float("inf"),
        since: float = float("inf"),
    ) -> None:
        self._root = os.fsencode(here.root)
        self._git_dir = here.git_dir
        self._truth = Truth(here, env)
        self._report = Report(here, env)
        self._restore = Restore(here, env, self._truth, self._report)
        self._tell = tell
        self._stand = stand
        self._origin = Origin(here, env, self._truth, settle)
        self._since = since
        self._repeat_s = repeat_s
        self._repeat_due = float("inf")
        self._stream: Stream | None = None
        self._state = ("", "")
        self._picture = Picture({}, 0.0)
        self._pending: dict[bytes, None] = {}
        # What is not as Git has it and not the work of its holder.
        self._strange: set[bytes] = set()
        # Directories that came lately, and when: what is in them came with them, however old it is.
        self._arrivals: dict[bytes, float] = {}
        self._doubts = Doubts()
        # What a hook before a commit has put aside, and how it was seen before.
        self._aside: dict[bytes, Mark] = {}
        self._look_due = 0.0
        self._look_ended = 0.0
        self._look_cost_s = 0.0
        self._grown = False

    def run(self, stop: threading.Event) -> None:
        """Watch until told to stop or the checkout is gone. A hub or a Git that does not answer is asked again."""
        begun = False
        while not stop.is_set():
            try:
                if not begun:
                    self._begin()
                    begun = True
                self._round(stop)
            except (SynapseError, Unanswered, Unwatchable) as error:
                if not os.path.isdir(self._git_dir) or not os.path.isdir(self._root):
                    break
                self._state = ("", "")
                self._look_due = 0.0
                log.warning("%s: %s", os.fsdecode(self._root), error)
                stop.wait(_UNANSWERED_S)
        self._restore.close()
        if self._stream:
            self._stream.close()

    def _begin(self) -> None:
        opened = self._open()
        self._restore.consult()
        self._restore.catch_up()
        self._origin.stand(self._origin.look())
        now = time.time()
        found, self._picture = Picture({}, min(self._since, now)).missed(self._truth.dirty(), self._look, now)
        missed = [path for path in found if self._since < now and self._gone_since(path)]
        self._judge_unseen(missed)
        self._now(*opened)
        self._look_due = time.monotonic() + (_NOW_AND_THEN_S if opened[0] == "live" else _DEGRADED_S)

    def _open(self) -> tuple[str, str]:
        """Watch anew, so that directories which went unwatched are seen from now on; the state, and why."""
        old = self._stream
        try:
            self._stream = Stream(os.fsdecode(self._root))
        except Unwatchable as error:
            return "degraded", f"{error}. Looking at all files every {_DEGRADED_S:.0f} s"
        if old:
            old.close()
        return "live", ""

    def _round(self, stop: threading.Event) -> None:
        for path in self._gather(self._pause(), stop):
            self._pending[path] = None
        if (self._pending or self._doubts) and self._truth.busy():
            return
        for path in self._doubts.soon(time.monotonic()):
            self._pending[path] = None
        if self._pending:
            self._judge(self._pending)
            self._pending = {}
        self._settle_doubts()
        if time.monotonic() >= self._look_due:
            self._look_at_all()
        if time.monotonic() >= self._repeat_due:
            self._announce()

    # ---- what happened ----

    def _pause(self) -> float:
        if self._pending:
            return _BUSY_POLL_S
        due = min([self._look_due, self._repeat_due, *self._doubts.next()])
        return min(max(due - time.monotonic(), _BUSY_POLL_S), _LONGEST_S)

    def _gather(self, timeout_s: float, stop: threading.Event) -> list[bytes]:
        """Paths that were touched, relative to the root; Git's own are left out."""
        if self._stream is None:
            stop.wait(timeout_s)
            return []
        batch = self._stream.take(timeout_s, stop)
        found: list[bytes] = []
        grown = False
        for touched in batch.paths:
            path = self._relative(touched)
            if path is None:
                continue
            if not _is_directory(touched):
                found.append(path)
            elif touched in batch.made:
                grown = True
                self._arrivals[path] = self._look(path)[1]
                found += [inner for each in stream.beneath(touched) if (inner := self._relative(each))]
        if found or grown or batch.lost:
            self._grown = self._grown or grown
            self._trail(batch.lost)
        return found

    def _relative(self, touched: str) -> bytes | None:
        path = os.fsencode(touched)
        relative = path.removeprefix(self._root + b"/")
        return None if relative == path or b".git" in relative.split(b"/") else relative

    def _trail(self, lost: str) -> None:
        """Look at all of it soon: events may be missing from what came."""
        now = time.monotonic()
        earliest = self._look_ended + _LOOK_SHARE * self._look_cost_s
        if lost:
            self._now("degraded", f"{lost}. All files are being looked at")
        self._look_due = max(now if self._state[0] == "degraded" else now + _TRAILING_S, earliest)

    # ---- whose it was ----

    def _judge(self, paths: Iterable[bytes]) -> None:
        """Ask about ``paths``; what may be somebody else's doing is looked at closely."""
        held = self._report.judge(paths)
        for edit in held:
            self._note(edit.path)
            if edit.certain and edit.by == "holder":
                self._approve(edit, None)
        suspicious = self._spread([edit.path for edit in held if not (edit.certain and edit.by == "holder")])
        moment = self._truth.moment()
        moved = self._origin.moved(suspicious)
        for path in moved:
            self._picture.clear(path)
        for edit, seen in self._weigh([path for path in suspicious if path not in moved], {}, settled=False):
            if edit.by == "unknown":
                self._doubts.add(edit.path, time.monotonic())
            else:
                self._doubts.drop(edit.path)
                self._aside.pop(edit.path, None)
                self._conclude(edit, seen, moment)
        self._restore.forget(path for path in suspicious if path not in self._doubts)

    def _judge_unseen(self, paths: list[bytes]) -> None:
        """Those of which no event told."""
        for path in paths:
            self._restore.missed(path)
        self._judge(paths)
        self._restore.forget(path for path in paths if path not in self._doubts)

    def _spread(self, paths: list[bytes]) -> list[bytes]:
        """With the files of a directory that is gone in its place: no event names them."""
        gone = {path for path in paths if not content.look(self._full(path))}
        if not gone:
            return paths
        within = {*self._truth.tracked(gone), *self._picture.beneath(gone)}
        for path in within:
            self._note(path)
        emptied = gone.intersection(directory for one in within for directory in above(one))
        return sorted((set(paths) | within) - emptied)

    def _settle_doubts(self) -> None:
        due = self._doubts.over(time.monotonic())
        if not due:
            return
        moment = self._truth.moment()
        origins = self._origin.of(due)
        if origins is None:
            return
        due = self._but_for_aside(due, origins)
        left = [path for path in due if not self._harmless(path, origins.get(path, ""))]
        found = self._weigh(left, origins, settled=True)
        for path in due:
            self._doubts.drop(path)
        self._restore.forget(path for path in due if path not in left)
        for edit, seen in found:
            self._conclude(edit, seen, moment)

    def _but_for_aside(self, paths: list[bytes], origins: Mapping[bytes, str]) -> list[bytes]:
        """Without what stays in doubt since a hook before a commit may have put it aside, and will bring it back."""
        aside = {path for path in paths if origins.get(path) == origin.BACK and self._loses(path)}
        if not aside or not attempt.under_way(os.fsdecode(self._root)):
            return paths
        for path in aside:
            self._aside.setdefault(path, self._restore.former(path))
            self._doubts.put_off(path, time.monotonic())
        return [path for path in paths if path not in aside]

    def _is_as_before(self, path: bytes) -> bool:
        """Has the hook brought back what it put aside? Times are new then, so mode and size have to do."""
        shape = self._aside.pop(path, ())[1:3]
        return bool(shape) and shape == self._look(path)[0][1:3]

    def _loses(self, path: bytes) -> bool:
        """Was there work of its holder's before?"""
        return bool(self._restore.former(path)) and path not in self._strange

    def _harmless(self, path: bytes, came: str) -> bool:
        """Did Git write it without any work of its holder's being lost? ``came``: where it comes from."""
        if self._is_as_before(path) and came != origin.BACK:
            return True
        if came == origin.MOVED:
            self._strange.add(path)
        elif came == origin.BACK:
            self._picture.clear(path)
            lost = self._loses(path)
            self._strange.discard(path)
            return not lost
        return came == origin.MOVED

    def _conclude(self, edit: Edit, seen: Content, moment: tuple[object, ...]) -> None:
        """All is known of a change that can be. ``moment``: `Truth.moment` when it was looked at."""
        if edit.by == "holder":
            self._approve(edit, seen)
            return
        kept, why = self._restore.settle(edit, seen, moment)
        if kept:
            self._picture.note(edit.path, self._look(edit.path)[0])
        else:
            self._strange.add(edit.path)
        self._tell(edit, kept, why)

    def _approve(self, edit: Edit, seen: Content | None) -> None:
        self._strange.discard(edit.path)
        if edit.certain:
            self._restore.approve(edit.path, edit.owner, seen)
        else:
            self._restore.excuse(edit.path)

    def _weigh(
        self, paths: Iterable[bytes], origins: Mapping[bytes, str], *, settled: bool
    ) -> list[tuple[Edit, Content]]:
        seen = {path: content.read(self._full(path)) for path in paths}
        for path, one in seen.items():
            one.git = path in origins
            one.changed_at = max([one.changed_at, *(at for top, at in self._arrivals.items() if _within(path, top))])
        files = [(path, one) for path, one in seen.items() if not stat.S_ISDIR(one.mode)]
        return [(edit, seen[edit.path]) for edit in self._report.weigh(files, settled=settled)] if files else []

    def _note(self, path: bytes) -> None:
        """It was seen, and is being dealt with."""
        count = self._restore.count(path)
        mark = self._look(path)[0]
        if mark != self._picture.mark(path):
            self._restore.before(path, self._picture.mark(path), count)
            self._picture.note(path, mark)
            self._doubts.renew(path, time.monotonic())

    # ---- the truth ----

    def _look_at_all(self) -> None:
        """Compare with what Git says: whatever no event told of is found here."""
        if self._truth.busy():
            self._look_due = time.monotonic() + _TRAILING_S
            return
        now, start = time.time(), time.monotonic()
        standing = self._origin.look()
        self._restore.consult()
        missed, picture = self._picture.missed(self._truth.dirty(), self._look, now)
        self._judge_unseen(missed)
        self._picture = picture
        self._origin.stand(standing)
        self._arrivals.clear()
        self._look_ended = time.monotonic()
        self._look_cost_s = self._look_ended - start
        self._reconsider()

    def _reconsider(self) -> None:
        """Is what made events go missing over?"""
        if self._grown or self._state[0] == "degraded":
            self._grown = False
            if limit := stream.at_limit(self._git_dir):
                self._now("degraded", f"{limit}. Looking at all files every {_DEGRADED_S:.0f} s as well")
            elif self._state[0] == "degraded":
                self._now(*self._open())
        pause = _DEGRADED_S if self._state[0] == "degraded" else _NOW_AND_THEN_S
        self._look_due = max(time.monotonic() + pause, self._look_ended + _LOOK_SHARE * self._look_cost_s)

    def _gone_since(self, path: bytes) -> bool:
        """Is it there, or has the directory changed in which it was? Nothing else tells since when it is gone."""
        while path and not content.look(self._full(path)):
            path = os.path.dirname(path)
            found = content.look(self._full(path))
            if found:
                return found.st_mtime >= self._since
        return bool(path)

    def _look(self, path: bytes) -> tuple[Mark, float]:
        found = content.look(self._full(path))
        return content.mark(found), found.st_ctime if found else 0.0

    def _full(self, path: bytes) -> bytes:
        return self._root + b"/" + path

    # ---- how it stands ----

    def _now(self, state: str, reason: str) -> None:
        if self._state != (state, reason):
            self._state = (state, reason)
            self._announce()

    def _announce(self) -> None:
        self._repeat_due = time.monotonic() + self._repeat_s
        self._stand(*self._state)


def _within(path: bytes, directory: bytes) -> bool:
    return path.startswith(directory + b"/")


def _is_directory(path: str) -> bool:
    found = content.look(os.fsencode(path))
    return found is not None and stat.S_ISDIR(found.st_mode)
