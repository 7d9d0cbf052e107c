"""Random operations of Git by three agents in two checkouts, before an oracle that trusts nobody.

It reads ``git log``, the live claims and who overrode what, and knows the rule in its own words: no commit by anyone
but the holder changes a path that is held at that moment, and whatever is refused would have.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from tests.box import Box
from tests.faults.scale import LONG, times
from tests.machine.git.checkouts import PLACES, Actor, Checkouts, actors, refused
from tests.machine.git.layouts import FILES, LAYOUTS
from tests.machine.git.oracle import Touched

EXAMPLES, STEPS = times(2, 60), times(12, 30)

files = st.sampled_from(FILES)
several = st.lists(files, min_size=1, max_size=2, unique=True)
clashes = st.sampled_from(["", "", *FILES])
answers = st.sampled_from(["continue", "continue", "skip", "abort"])
ARRIVALS = ("merge -q", "reset -q --hard", "reset -q --keep", "reset -q --merge", "reset -q --soft", "reset -q")
REWRITINGS = ("2s/^pick/squash/", "2s/^pick/fixup/", "1s/^pick/drop/", "1{h;d};2G")
KINDS = ("edit", "delete", "rename", "mode", "link", "directory")


class GitMachine(Checkouts):
    """The operations. Each leaves its checkout clean."""

    def _change(self, place: str, path: str, kind: str) -> None:
        """Change ``path`` in the checkout, and stage it."""
        file = self.roots[place] / path
        if kind == "edit" or not file.is_file() or file.is_symlink():
            self.write(place, [path])
        elif kind == "rename":
            self.number += 1
            self.box.done(
                "git", "mv", "--sparse", path, f"{os.path.dirname(path) or 'new'}{self.number}", cwd=self.roots[place]
            )
        elif kind == "mode":
            file.chmod(0o755 if not os.access(file, os.X_OK) else 0o644)
        else:
            file.unlink()
            if kind == "link":
                file.symlink_to("elsewhere")
            elif kind == "directory":
                self.write(place, [f"{path}/inner"])
        self.box.done("git", "add", "-A", "--sparse", cwd=self.roots[place])

    @rule(
        who=actors,
        paths=several,
        kind=st.sampled_from(KINDS),
        form=st.sampled_from(["-q", "-qn", "-q --amend", "-q --fixup HEAD", "-q -a"]),
    )
    def commit(self, who: Actor, paths: list[str], kind: str, form: str) -> None:
        """What is staged, with or without hooks to verify it."""
        for path in paths:
            self._change(who.place, path, kind)
        self._commit(who, *form.split())

    def _commit(self, who: Actor, *words: str) -> None:
        before, begun = self.oracle.ask(who.place, "status", "--porcelain"), self.oracle.head(who.place)
        options = [] if "--fixup" in words else ["-m", "x"]
        ended = self.perform(who, "commit", *options, *words, due=self.oracle.staged(who.place))
        if refused(ended):
            assert self.oracle.ask(who.place, "status", "--porcelain") == before
            self.give_up(who.place, ended, begun)
        self.tidy(who.place)

    @rule(who=actors, paths=several, form=st.sampled_from(["--", "-o --", "-i --", "-p --"]))
    def commit_named(self, who: Actor, paths: list[str], form: str) -> None:
        """One path of those that were changed, with the others staged or not."""
        self.write(who.place, paths)
        if form != "-p --":
            self.git(who.place, "add", "--sparse", *paths[1:])
        changed = self.oracle.differ(who.place, "HEAD", "--", *(paths if form == "-i --" else paths[:1]))
        command = ["commit", "-q", "-m", "x", *form.split(), paths[0]]
        self.perform(who, *command, due=Touched(changed, changed), stdin="y\n" * 5)
        self.tidy(who.place)

    @rule(
        who=actors,
        paths=several,
        verb=st.sampled_from(["switch -q --orphan", "checkout -q --orphan"]),
        form=st.sampled_from(["commit -q", "commit -qn", "update-ref HEAD"]),
    )
    def begin(self, who: Actor, paths: list[str], verb: str, form: str) -> None:
        """A branch with a first commit of its own, of what the index still holds or of little."""
        self.number += 1
        self.git(who.place, *verb.split(), f"fresh-{self.number}")
        self.write(who.place, paths)
        self.git(who.place, "add", "-A", "--sparse")
        if form.startswith("commit"):
            self._commit(who, *form.split()[1:])
            return
        due = self.oracle.staged(who.place)
        tree = self.oracle.ask(who.place, "write-tree")[0]
        made = self.oracle.ask(who.place, "commit-tree", "-m", f"{self.number}", tree)[0]
        self.perform(who, *form.split(), made, due=due)
        self.tidy(who.place)

    def _commit_by_hand(self, who: Actor, path: str, kind: str, parent: str = "HEAD") -> tuple[str, Touched]:
        """A commit that no reference knows, and what it changes."""
        self.git(who.place, "read-tree", "-u", "--reset", parent)
        self._change(who.place, path, kind)
        tree = self.oracle.ask(who.place, "write-tree")[0]
        made = self.oracle.ask(who.place, "commit-tree", "-p", parent, "-m", f"{self.number}", tree)[0]
        self.tidy(who.place)
        changed = self.oracle.differ(who.place, "HEAD", made)
        return made, Touched(changed, changed)

    @rule(
        who=actors,
        clash=clashes,
        path=files,
        kind=st.sampled_from(KINDS),
        ref=st.sampled_from(["HEAD", "branch", "from there", "its HEAD from there", "from nowhere"]),
    )
    def plumb(self, who: Actor, clash: str, path: str, kind: str, ref: str) -> None:
        """A commit made by hand, put where a checkout stands, from wherever, or instead of the last."""
        self._clash(clash)
        made, due = self._commit_by_hand(who, path, kind, "HEAD~1" if ref == "HEAD" else "HEAD")
        git_dir = self.oracle.ask(who.place, "rev-parse", "--absolute-git-dir")[0]
        linked = os.path.basename(git_dir) if os.path.basename(os.path.dirname(git_dir)) == "worktrees" else ""
        its_head = f"worktrees/{linked}/HEAD" if linked else "main-worktree/HEAD"
        name = {"HEAD": "HEAD", "its HEAD from there": its_head}.get(ref, f"refs/heads/{who.place}")
        where = self.box.home if ref == "from nowhere" else self.roots[who.other] if ref.endswith("there") else None
        given = ["--git-dir", git_dir] if ref == "from nowhere" else []
        self.perform(who, *given, "update-ref", name, made, due=due, cwd=where)
        self.tidy(who.place)

    @rule(who=actors, swapped=st.booleans())
    def merge_by_hand(self, who: Actor, swapped: bool) -> None:
        """With the branch that stood there as first parent or as second."""
        parents = [who.other, "HEAD"] if swapped else ["HEAD", who.other]
        merged = self.git(who.place, "merge-tree", "--write-tree", *parents)
        if merged.code == 0:
            given = [word for parent in parents for word in ("-p", parent)]
            made = self.oracle.ask(who.place, "commit-tree", *given, "-m", "x", merged.out.splitlines()[0])[0]
            due = Touched(self.oracle.differ(who.place, "HEAD", made), frozenset())
            self.perform(who, "update-ref", "HEAD", made, due=due)
        self.tidy(who.place)

    @rule(
        who=actors,
        path=files,
        form=st.sampled_from([*ARRIVALS, "checkout -q -B", "switch -q -C", "fetch -q -u ."]),
    )
    def arrive(self, who: Actor, path: str, form: str) -> None:
        """At a commit made by hand, by commands that move the checkout."""
        begun = self.oracle.head(who.place)
        made, due = self._commit_by_hand(who, path, "edit")
        named = [] if form in ARRIVALS else [who.place]
        goal = [f"{made}:{who.place}"] if form.startswith("fetch") else [*named, made]
        ended = self.perform(who, *form.split(), *goal, due=due)
        if refused(ended):
            self.give_up(who.place, ended, begun)
        self.tidy(who.place)

    @rule(who=actors, path=st.sampled_from(["f/a", "new/x", "top"]))
    def fast_import(self, who: Actor, path: str) -> None:
        """A stream of commands, into the branch that is checked out."""
        self.number += 1
        stream = (
            f"commit refs/heads/{who.place}\ncommitter A <a@example.invalid> 1 +0000\ndata 1\nx\n"
            f"from refs/heads/{who.place}^0\nM 100644 inline {path}\ndata <<E\n{self.number}\nE\n\n"
        )
        due = Touched(frozenset([path]), frozenset([path]))
        self.perform(who, "fast-import", "--quiet", due=due, stdin=stream)
        self.tidy(who.place)

    def _clash(self, path: str) -> None:
        """Both branches change it, each in its own way and with leave."""
        if path:
            for place in PLACES:
                self.write(place, [path])
                self.git(place, "add", "-A", "--sparse")
                self.git(place, "commit", "-qm", "clash")

    @rule(
        who=actors,
        clash=clashes,
        form=st.sampled_from(["", "--no-verify", "--no-ff", "--ff-only", "-X ours", "-s ours", "octopus", "fetched"]),
        answer=answers,
    )
    def merge(self, who: Actor, clash: str, form: str, answer: str) -> None:
        """The other branch, clean, forward or after conflicts."""
        self._clash(clash)
        begun, named, options = self.oracle.head(who.place), [who.other], form.split()
        if form == "octopus":
            self.number += 1
            fork = self.oracle.ask(who.place, "rev-list", "--max-parents=0", "HEAD")[0]
            tree = self.oracle.ask(who.place, "rev-parse", f"{fork}:f")[0]
            named.append(self.oracle.ask(who.place, "commit-tree", "-p", fork, "-m", f"{self.number}", tree)[0])
            options = []
        elif form == "fetched":
            self.git(who.place, "fetch", "-q", ".", who.other)
            named, options = ["FETCH_HEAD"], []
        ended = self.perform(who, "merge", "-q", "--no-edit", *options, *named)
        self.see_through(who, "merge", ended, begun, answer.replace("skip", "abort"))

    @rule(who=actors)
    def squash(self, who: Actor) -> None:
        """What the other branch has, as one commit that knows nothing of it."""
        if self.git(who.place, "merge", "-q", "--squash", who.other).code == 0:
            self._commit(who, "-q", "--allow-empty")
        self.tidy(who.place)

    @rule(
        who=actors,
        clash=clashes,
        verb=st.sampled_from(["cherry-pick", "revert"]),
        count=st.integers(1, 2),
        answer=answers,
    )
    def pick(self, who: Actor, clash: str, verb: str, count: int, answer: str) -> None:
        """One commit or two, of the other branch or back from here."""
        self._clash(clash)
        begun, named = self.oracle.head(who.place), who.other if verb == "cherry-pick" else "HEAD"
        commits = self.oracle.ask(who.place, "rev-list", "--no-merges", "--min-parents=1", f"-{count}", named)
        options = ["--no-edit"] if verb == "revert" else ["--keep-redundant-commits"]
        ordered = commits if verb == "revert" else commits[::-1]
        if ordered:
            ended = self.perform(who, verb, *options, *ordered)
            self.see_through(who, verb, ended, begun, answer)

    @rule(
        who=actors,
        clash=clashes,
        form=st.sampled_from(["--merge", "--apply", "--exec true", "--rebase-merges", "-i --autosquash", "pull"]),
        answer=answers,
    )
    def rebase(self, who: Actor, clash: str, form: str, answer: str) -> None:
        """Onto the other branch, by either backend."""
        self._clash(clash)
        begun = self.oracle.head(who.place)
        words = ["pull", "-q", "--rebase", "."] if form == "pull" else ["rebase", "-q", *_words(form)]
        ended = self.perform(who, *words, who.other, whole=False)
        self.see_through(who, "rebase", ended, begun, answer, whole=False)

    @rule(who=actors, clash=clashes, how=st.sampled_from(REWRITINGS), answer=answers)
    def rewrite(self, who: Actor, clash: str, how: str, answer: str) -> None:
        """The last two commits, as one, without the first, or the other way round."""
        self._clash(clash)
        begun = self.oracle.head(who.place)
        if len(self.oracle.ask(who.place, "rev-list", "--first-parent", "-3", "HEAD")) == 3:
            editor = ["-c", f"sequence.editor=sed -i '{how}'"]
            ended = self.perform(who, *editor, "rebase", "-q", "-i", "HEAD~2", whole=False)
            self.see_through(who, "rebase", ended, begun, answer, whole=False)

    @rule(who=actors, path=files)
    def rebase_and_commit(self, who: Actor, path: str) -> None:
        """A commit that a command of the rebase makes."""
        begun = self.oracle.head(who.place)
        if path != 'g/"d\n é':
            script = f"mkdir -p f g; echo {self.number} >{path}; git add -A --sparse; git commit -qm x"
            ended = self.perform(who, "rebase", "-q", "--exec", script, "HEAD~1", whole=False)
            self.see_through(who, "rebase", ended, begun, "abort", whole=False)

    @rule(who=actors, form=st.sampled_from(["am -q", "am -q -3", "am -q --no-verify"]), answer=answers)
    def mailbox(self, who: Actor, form: str, answer: str) -> None:
        """The other branch's last commits, as patches."""
        begun = self.oracle.head(who.place)
        patches = self.box.done("git", "format-patch", "-2", "--stdout", who.other, cwd=self.roots[who.place])
        ended = self.perform(who, *form.split(), stdin=patches)
        self.see_through(who, "am", ended, begun, answer)

    @rule(who=actors, form=st.sampled_from(["--soft", "--mixed", "--hard"]), back=st.sampled_from(["~1", "~2", "@{1}"]))
    def reset(self, who: Actor, form: str, back: str) -> None:
        """Back, which nobody stops; what is committed from there is a change."""
        if len(self.oracle.ask(who.place, "rev-list", "--first-parent", "-4", "HEAD")) == 4 or back == "@{1}":
            ended = self.perform(who, "reset", "-q", form, f"HEAD{back}")
            assert not refused(ended)
            if form == "--mixed":
                self.git(who.place, "add", "-A", "--sparse")
            if form != "--hard":
                self._commit(who, "-q", "--allow-empty")
        self.tidy(who.place)

    @rule(who=actors, paths=several, pop=st.booleans())
    def stash(self, who: Actor, paths: list[str], pop: bool) -> None:
        """Put aside, taken up in either checkout, and committed."""
        self.write(who.place, paths)
        ended = self.perform(who, "stash", "push", "-q", "--include-untracked")
        assert not refused(ended)
        ended = self.perform(who._replace(place=who.other) if pop else who, "stash", "pop", "-q")
        assert not refused(ended)
        place = who.other if pop else who.place
        if ended.code == 0:
            self.git(place, "add", "-A", "--sparse")
            self._commit(who._replace(place=place), "-q", "--allow-empty")
        else:
            self.tidy(place)
            self.git(place, "stash", "drop", "-q")


def _words(form: str) -> list[str]:
    return form.split(" ", 1) if form.startswith("--exec") else form.split()


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_nothing_held_is_changed_and_nothing_free_is_refused(box: Box, layout: str) -> None:
    """Whatever three agents do with Git in two checkouts, wherever these lie."""

    class Machine(GitMachine):
        pass

    Machine.box, Machine.layout = box, staticmethod(LAYOUTS[layout])
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=not LONG,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            phases=[Phase.generate, Phase.shrink],
            database=None,
        ),
    )
