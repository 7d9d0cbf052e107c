"""Every row of the page on the guard and Git, run for real: what is free, and what somebody else holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from synapse_hooks.setup import installation, shims
from tests.box import Box, Result
from tests.hooking import GIT, SAYS_LESS, count_starts, log

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/reference/git.md"
FREE, HELD = "src/a.py", "src/b.py"
REFUSED, NOTED, WARNED, PASSES = "refused", "passes, noted", "passes, warned", "passes"

FORK = """
git checkout -qb side; echo side >$P; git commit -qam side
git checkout -q main; echo main >docs/guide.md; git commit -qam main"""
AHEAD = "git checkout -qb side; echo side >$P; git commit -qam side; git checkout -q main"
LOOSE = """
echo x >$P; git add $P; made=$(git commit-tree -p HEAD -m x $(git write-tree)); git reset -q --hard
git tag loose $made; git config x.loose $made; git tag -d loose >/dev/null"""


CONFLICT = f"""{FORK}
git checkout -q side; echo other >docs/guide.md; git commit -qa --amend -m side; git checkout -q main
"""
SOLVE = "{ echo solved >docs/guide.md; git add docs/guide.md; }"
BRANCHES = f"{AHEAD}; git branch other"
SUBMODULE = """
git rm -q $P; git clone -q . .git/seed; git -c protocol.file.allow=always submodule --quiet add ./.git/seed $P
git commit -qm sub; cd $P; synapse-git install >/dev/null; cd - >/dev/null"""
ELSEWHERE = "git clone -q . .git/clone; echo x >.git/clone/$P; git -C .git/clone commit -qam x"


class Act(NamedTuple):
    """What is prepared in ``sh`` while nobody holds ``$P``, and what is done once somebody does, in ``there``."""

    before: str
    command: str
    there: str = "."


ACTS = {
    "git commit -a": Act("echo x >$P", "git commit -qam x"),
    "git commit PATH": Act("echo x >$P", "git commit -qm x $P"),
    "git commit -i PATH": Act("echo x >$P", "git commit -qm x -i $P"),
    "git commit -p": Act("echo x >$P", "yes | git commit -qpm x >/dev/null"),
    "git commit --fixup": Act("echo x >$P", "git commit -qa --fixup HEAD"),
    "git commit, on no branch": Act("git checkout -q --detach; echo x >$P", "git commit -qam x"),
    "git commit -n": Act("echo x >$P", "git commit -nqam x"),
    "git commit --amend": Act("echo x >$P", "git commit -qa --amend --no-edit"),
    "git commit, the first": Act(
        "git checkout -q --orphan fresh; git rm -rq --cached .; git add $P", "git commit -qm x"
    ),
    "git merge": Act(FORK, "git merge -q --no-edit side"),
    "git merge --no-verify": Act(FORK, "git merge -q --no-edit --no-verify side"),
    "git merge A B": Act(
        f"{FORK}\ngit checkout -qb third main~1; echo 3 >third; git add .; git commit -qm third; git checkout -q main",
        "git merge -q --no-edit side third",
    ),
    "git commit, after a conflict": Act(
        f"{CONFLICT}git merge -q side >/dev/null || {SOLVE}",
        "git commit -qm merged",
    ),
    "git merge FETCH_HEAD": Act(f"{FORK}\ngit fetch -q . side", "git merge -q --no-edit FETCH_HEAD"),
    "git merge FETCH_HEAD, nothing of one's own": Act(
        f"{ELSEWHERE}; git fetch -q .git/clone", "git merge -q --no-edit FETCH_HEAD"
    ),
    "git merge FETCH_HEAD, of this very repository": Act(
        f"{LOOSE}\ngit config uploadpack.allowAnySHA1InWant true; git fetch -q . $made", "git merge -q FETCH_HEAD"
    ),
    "git checkout, of what plumbing has made": Act(LOOSE, "git checkout -q --detach $(git config x.loose)"),
    "git reset --hard, to what plumbing has made": Act(LOOSE, "git reset -q --hard $(git config x.loose)"),
    "git reset, to what plumbing has made": Act(LOOSE, "git reset -q $(git config x.loose)"),
    "git reset --soft, to what plumbing has made": Act(LOOSE, "git reset -q --soft $(git config x.loose)"),
    "git pull": Act(FORK, "git pull -q --no-rebase --no-edit . side"),
    "git pull --rebase": Act(f"{FORK}\ngit checkout -q side", "git pull -q --rebase . main"),
    "git merge --squash, git commit": Act(f"{FORK}\ngit merge -q --squash side", "git commit -qm squashed"),
    "git merge --ff-only": Act(AHEAD, "git merge -q --ff-only side"),
    "git pull --ff-only": Act(AHEAD, "git pull -q --ff-only . side"),
    "git cherry-pick": Act(FORK, "git cherry-pick side"),
    "git cherry-pick --continue": Act(
        f"{CONFLICT}git cherry-pick side >/dev/null 2>&1 || {SOLVE}", "git -c core.editor=true cherry-pick --continue"
    ),
    "git cherry-pick -n, git commit": Act(f"{FORK}\ngit cherry-pick -n side", "git commit -qm x"),
    "git cherry-pick A B": Act(
        f"{FORK}\ngit checkout -q side; echo 2 >second; git add .; git commit -qm second; git checkout -q main",
        "git cherry-pick main..side",
    ),
    "git revert": Act("echo x >$P; git commit -qam x", "git revert --no-edit HEAD"),
    "git revert A B": Act(
        "echo x >$P; git commit -qam x; echo 2 >second; git add .; git commit -qm second",
        "git revert --no-edit HEAD~1 HEAD",
    ),
    "git rebase": Act(f"{FORK}\ngit checkout -q side", "git rebase -q main"),
    "git rebase --apply": Act(f"{FORK}\ngit checkout -q side", "git rebase -q --apply main"),
    "git rebase --exec": Act(f"{FORK}\ngit checkout -q side", "git rebase -q --exec true main"),
    "git rebase --autosquash": Act(
        f"{FORK}\ngit checkout -q side; echo 2 >$P; git commit -qam 'fixup! side'",
        "GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash main",
    ),
    "git rebase --autostash": Act(
        f"{FORK}\ngit checkout -q side; echo 3 >third; git add .; git commit -qm third; echo 4 >third",
        "git rebase -q --autostash main",
    ),
    "git rebase --update-refs": Act(
        f"{FORK}\ngit checkout -q side; git branch mid; echo 2 >second; git add .; git commit -qm second",
        "git rebase -q --update-refs main",
    ),
    "git rebase --continue": Act(
        f"{CONFLICT}git checkout -q side; git rebase -q main >/dev/null 2>&1 || {SOLVE}",
        "git -c core.editor=true rebase --continue >/dev/null",
    ),
    "git rebase, nothing of one's own": Act(AHEAD, "git rebase -q side"),
    "git am": Act(f"{FORK}\ngit format-patch -q -1 side -o .git/patches", "git am -q .git/patches/*"),
    "git am -3": Act(f"{FORK}\ngit format-patch -q -1 side -o .git/patches", "git am -q -3 .git/patches/*"),
    "git am --continue": Act(
        f"{CONFLICT}git format-patch -q -1 side -o .git/patches\n"
        f"git am -q -3 .git/patches/* >/dev/null 2>&1 || {SOLVE}",
        "git am -q --continue >/dev/null",
    ),
    "git checkout BRANCH": Act(AHEAD, "git checkout -q side"),
    "git checkout -b": Act("", "git checkout -qb other"),
    "git checkout -B": Act(AHEAD, "git checkout -q -B main side"),
    "git bisect": Act(
        "for n in 1 2 3; do echo $n >$P; git commit -qam $n; done",
        "{ git bisect start HEAD HEAD~3 && git bisect reset; } >/dev/null",
    ),
    "git checkout -- PATH": Act("echo x >$P", "git checkout -q -- $P"),
    "git reset --hard": Act(AHEAD, "git reset -q --hard side"),
    "git reset --keep": Act(AHEAD, "git reset -q --keep side"),
    "git restore": Act("echo x >$P", "git restore $P"),
    "git restore -s": Act(AHEAD, "git restore -s side $P"),
    "git read-tree -m -u": Act(AHEAD, "git read-tree -m -u HEAD side"),
    "git update-index": Act("echo x >$P", "git update-index $P"),
    "git apply --index": Act("echo x >$P; git diff >.git/patch; git checkout -q $P", "git apply --index .git/patch"),
    "git reset --soft": Act(AHEAD, "git reset -q --soft side"),
    "git reset --hard HEAD@{1}": Act(
        "echo x >$P; git commit -qam x; git reset -q --hard HEAD~1", "git reset -q --hard HEAD@{1}"
    ),
    "git reset --soft, git commit": Act(
        "echo x >$P; git commit -qam x; git reset -q --soft HEAD~1", "git commit -qm x"
    ),
    "git stash, git stash pop": Act("echo x >$P", "git stash -q && git stash pop -q"),
    "git stash branch": Act("echo x >$P; git stash -q", "git stash branch other >/dev/null"),
    "git worktree move": Act("git worktree add -q linked -b other", "git worktree move linked further", "linked"),
    "git worktree remove": Act("git worktree add -q linked -b other", "git worktree remove linked", "linked"),
    "git worktree add": Act(AHEAD, "git worktree add -q .git/linked side 2>/dev/null"),
    "git branch -f": Act(AHEAD, "git branch -q -f other side"),
    "git fetch . A:B": Act(BRANCHES, "git fetch -q . side:other"),
    "git fetch . COMMIT, into the branch that is checked out": Act(
        f"{LOOSE}\ngit config uploadpack.allowAnySHA1InWant true",
        "git fetch -q -u . $(git config x.loose):refs/heads/main",
    ),
    "git push . A:B": Act(BRANCHES, "git push -q . side:other"),
    "git branch -f BRANCH BRANCH@{1}": Act(
        f"{AHEAD}; git branch other; git branch -q -f other side", "git branch -q -f other other@{1}"
    ),
    "git symbolic-ref HEAD": Act(AHEAD, "git symbolic-ref HEAD refs/heads/side"),
    "git notes add": Act("", "git notes add -m x"),
    "git replace": Act(AHEAD, "git replace side main"),
    "git tag": Act(AHEAD, "git tag mark side"),
    "git update-ref HEAD": Act(LOOSE, "git update-ref HEAD $(git config x.loose)"),
    "git update-ref BRANCH, which another worktree has": Act(
        f"git worktree add -q linked -b side; {LOOSE}", "git update-ref refs/heads/side $(git config x.loose)", "linked"
    ),
    "git fast-import": Act(
        "",
        r"""printf 'commit refs/heads/main\ncommitter A <a@example.invalid> 1 +0000\ndata 1\nx\n"""
        r"""from refs/heads/main^0\nM 100644 inline %s\ndata 1\nx\n' $P | git fast-import --quiet""",
    ),
    "git filter-branch": Act(
        "", "FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --tree-filter 'echo y >'$P HEAD >/dev/null"
    ),
    "git subtree merge": Act(
        "git branch part $(git subtree split -q -P src); git rm -rq src; git commit -qm none\n"
        "git subtree add -q -P src part >/dev/null 2>&1\n"
        "git checkout -q part; echo x >${P#src/}; git commit -qam part; git checkout -q main",
        "git subtree merge -P src part >/dev/null",
    ),
    "git commit, of a submodule": Act(f"{SUBMODULE}\ngit -C $P commit -q --allow-empty -m x", "git commit -qam x"),
    "git submodule update": Act(
        f"{SUBMODULE}\necho x >$P/docs/guide.md; git -C $P commit -qam x",
        "git -c protocol.file.allow=always submodule --quiet update",
    ),
    "git submodule absorbgitdirs": Act(
        "git rm -q $P; git clone -q . $P; git submodule --quiet add ./ $P 2>/dev/null; git commit -qm sub",
        "git submodule absorbgitdirs 2>/dev/null",
    ),
    "git replay": Act(FORK, "git replay --advance main main..side"),
    "git history fixup": Act("echo x >$P; git add $P", "git history fixup HEAD"),
    "git push": Act(
        "git init -q --bare .git/o; git remote add o .git/o; git push -q o main; echo x >$P; git commit -qam x",
        "git push -q o main",
    ),
    "git push, into a checkout": Act(
        "git config receive.denyCurrentBranch updateInstead; git clone -q . .git/clone; cd .git/clone\n"
        "echo x >$P; git commit -qam x",
        "git -C .git/clone push -q origin HEAD",
    ),
}

LATER = {"git rebase --update-refs": (2, 38), "git replay": (2, 55), "git history fixup": (2, 55)}
"""Operations that Git has, or does by itself, only from that version on."""


class Row(NamedTuple):
    """``free``, ``held``: the hook that judged, '' if none did; ``outcome`` where it is held; ``way_out``: or ''."""

    free: str
    held: str
    outcome: str
    way_out: str


def _code(cell: str) -> str:
    found = re.fullmatch(r"`(.*)`", cell.strip())
    return found.group(1) if found else ""


def _rows() -> dict[str, Row]:
    rows = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `git "):
            operation, free, held, outcome, left = line.strip("| ").split(" | ")
            rows[_code(operation)] = Row(_code(free), _code(held), outcome, _code(left))
    return rows


def test_the_page_and_its_test_know_the_same_operations() -> None:
    """No row that is not run."""
    assert set(_rows()) == set(ACTS)


def _outcome(ended: Result) -> str:
    if ended.code:
        # One command keeps to itself what the hook says.
        assert "SCOPE_CONFLICT" in ended.err or "Could not rewrite" in ended.err, ended.text
        return REFUSED
    if "SCOPE_CONFLICT" in ended.err:
        return WARNED if "warning" in ended.err else ended.text
    return NOTED if "synapse-git: note:" in ended.err else PASSES


def _state(box: Box, root: Path) -> tuple[str, ...]:
    ask = (["rev-parse", "--verify", "-q", "HEAD"], ["status", "--porcelain"], ["ls-files", "-s"], ["branch", "-v"])
    return tuple(box.git(*words, cwd=root).out for words in ask)


def _perform(box: Box, act: Act, path: str) -> tuple[list[str], str, Path, tuple[str, ...]]:
    """Each hook that started Python, the outcome, the checkout, and its state before."""
    root = box.init(path.rpartition("/")[2])
    given = {"P": path, "PATH": box.env["PATH"]}
    box.done("sh", "-ec", act.before, cwd=root, env=given)
    installation.install(str(root), box.env)
    box.done("synapse-git", "claim", "-t", path, "--", HELD, cwd=root / act.there, agent="bob")
    count_starts(root / ".git/hooks", box, shims.OURS)
    before = _state(box, root)
    log(box)
    ended = box.run("sh", "-c", act.command, cwd=root, env=given, agent="ana")
    return log(box), _outcome(ended), root, before


@pytest.mark.parametrize("operation", list(ACTS))
def test_the_operation_ends_as_the_page_says(desk: Box, operation: str) -> None:
    """Which hook judged it, what came of it, and what is left and how to get rid of it."""
    if LATER.get(operation, ()) > GIT:
        pytest.skip("Git is older than that")
    row = _rows()[operation]
    hooks, outcome, _, _ = _perform(desk, ACTS[operation], FREE)
    if SAYS_LESS and not row.free:
        hooks = [hook for hook in hooks if hook != "reference-transaction"]
    assert (outcome, hooks[:1]) == (PASSES, [row.free] if row.free else [])
    hooks, outcome, root, before = _perform(desk, ACTS[operation], HELD)
    if SAYS_LESS and not row.held:
        hooks = [hook for hook in hooks if hook != "reference-transaction"]
    assert (outcome, hooks[-1:]) == (row.outcome, [row.held] if row.held else [])
    if row.way_out:
        continued = operation.startswith("git commit") or "--continue" in operation
        assert _state(desk, root) != before or continued
        desk.done("sh", "-c", row.way_out, cwd=root)
        after = _state(desk, root)
        assert after[1] == ("" if continued else before[1])
        assert after[0] == before[0] or continued
    elif outcome == REFUSED:
        assert _state(desk, root) == before
