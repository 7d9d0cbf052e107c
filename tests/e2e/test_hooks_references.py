"""The backstop: what comes past the hooks of a commit is judged when a reference is updated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import act, allowed, claim, log, refused, script

KEPT = "hooks.kept-by-synapse-git/reference-transaction"


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """A guarded repository in which bob holds ``src/b.py``."""
    claim(box, "bob", "src/b.py")
    return repo


def _commit(box: Box, path: str, *parents: str, text: str = "plumbed\n", cwd: Path | None = None) -> str:
    """A commit object that changes ``path``, made by plumbing."""
    box.write(path, text, cwd=cwd)
    box.done("git", "add", path, cwd=cwd)
    tree = box.done("git", "write-tree", cwd=cwd).strip()
    given = [word for parent in parents or ("HEAD",) for word in ("-p", parent)]
    made = box.done("git", "commit-tree", *given, "-m", "plumbed", tree, cwd=cwd).strip()
    box.done("git", "reset", "-q", "--hard", cwd=cwd)
    return made


@pytest.mark.parametrize("ref", ["HEAD", "refs/heads/main"])
def test_plumbing_is_refused(box: Box, held: Path, ref: str) -> None:
    """A commit made by hand gets as far as the branch, and HEAD stays where it was."""
    head = box.done("git", "rev-parse", "HEAD")
    made = _commit(box, "src/b.py")
    refused(box.git("update-ref", ref, made, agent="ana"), "src/b.py")
    refused(box.git("update-ref", ref, made, head.strip(), agent="ana"), "src/b.py")
    assert box.done("git", "rev-parse", "HEAD") == head
    allowed(box.git("update-ref", ref, _commit(box, "src/a.py"), agent="ana"))
    allowed(box.git("update-ref", ref, _commit(box, "src/b.py"), agent="bob"))


def test_a_branch_of_another_worktree_is_judged_there(box: Box, held: Path) -> None:
    """Its own claims count, not those of the checkout in which the command runs."""
    linked = held.parent / "linked"
    box.done("git", "worktree", "add", "-q", linked, "-b", "side")
    made = _commit(box, "src/b.py")
    allowed(box.git("update-ref", "refs/heads/side", made, agent="ana"))
    claim(box, "bob", "src/a.py", cwd=linked, task="t2")
    made = _commit(box, "src/a.py")
    refused(box.git("update-ref", "refs/heads/side", made, agent="ana"), "src/a.py")


def test_a_checkout_is_found_by_any_name_of_its_head(box: Box, held: Path) -> None:
    """Another checkout's HEAD that is called so from here, with a branch or without, or kept as a link."""
    linked = held.parent / "linked"
    box.done("git", "worktree", "add", "-q", "--detach", linked)
    claim(box, "bob", "src/a.py", cwd=linked, task="t2")
    head = box.done("git", "rev-parse", "HEAD").strip()
    taken, free = _commit(box, "src/a.py", head), _commit(box, "src/b.py", head)
    refused(box.git("update-ref", "worktrees/linked/HEAD", taken, agent="ana"), "src/a.py")
    allowed(box.git("update-ref", "worktrees/linked/HEAD", free, agent="ana"))
    box.done("git", "checkout", "-q", "--detach", agent="bob")
    made = _commit(box, "src/b.py", head, text="again\n")
    refused(box.git("update-ref", "main-worktree/HEAD", made, agent="ana", cwd=linked), "src/b.py")
    box.done("git", "branch", "side", head, agent="ana")
    file = held / ".git/worktrees/linked/HEAD"
    file.unlink()
    file.symlink_to("refs/heads/side")
    refused(box.git("update-ref", "refs/heads/side", taken, agent="ana"), "src/a.py")


def test_a_submodule_is_judged_in_its_superproject_from_anywhere(box: Box, held: Path) -> None:
    """A worktree of its repository that lies elsewhere has claims of its own, and each moves the other's branch."""
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", box.init("../seed"), "lib")
    allowed(box.synapse("install"))
    inner, linked = held / "lib", held.parent / "linked"
    box.done("git", "worktree", "add", "-q", linked, "-b", "side", cwd=inner)
    claim(box, "bob", "lib/src/a.py", task="t2")
    claim(box, "bob", "src/b.py", cwd=linked, task="t3")
    for ref, there, taken, free in (("main", linked, "src/a.py", "src/b.py"), ("side", inner, "src/b.py", "src/a.py")):
        made = {path: _commit(box, path, text=ref, cwd=inner) for path in (taken, free)}
        refused(box.git("update-ref", f"refs/heads/{ref}", made[taken], agent="ana", cwd=there), taken)
        allowed(box.git("update-ref", f"refs/heads/{ref}", made[free], agent="ana", cwd=there))
    # Plumbing runs where it was typed, and so do its hooks.
    git_dir, head = held / ".git/modules/lib", box.done("git", "rev-parse", "HEAD", cwd=inner).strip()
    made = {path: _commit(box, path, head, text="again\n", cwd=inner) for path in ("src/a.py", "src/b.py")}
    for there in (box.home, linked, git_dir, git_dir / "refs"):
        ended = box.git("--git-dir", git_dir, "update-ref", "HEAD", made["src/a.py"], head, agent="ana", cwd=there)
        refused(ended, "lib/src/a.py")
    allowed(box.git("--git-dir", git_dir, "update-ref", "HEAD", made["src/b.py"], head, agent="ana", cwd=box.home))


def test_branches_and_tags_that_nobody_stands_on_are_free(box: Box, held: Path) -> None:
    """They move no files."""
    made = _commit(box, "src/b.py")
    allowed(box.git("branch", "other", made, agent="ana"))
    allowed(box.git("tag", "mark", made, agent="ana"))
    allowed(box.git("update-ref", "-d", "refs/heads/other", agent="ana"))


def test_going_back_and_forth_is_nobodys_edit(box: Box, held: Path) -> None:
    """Commits that references or reflogs know were judged when they were made."""
    box.write("src/b.py")
    allowed(box.git("commit", "-qam", "x", agent="bob"))
    allowed(box.git("reset", "-q", "--hard", "HEAD~1", agent="ana"))
    allowed(box.git("reset", "-q", "--hard", "HEAD@{1}", agent="ana"))


def test_what_was_fetched_was_made_elsewhere(box: Box, held: Path) -> None:
    """A fast-forward to what FETCH_HEAD names passes although no reference names it."""
    box.done("git", "clone", "-q", held, "../clone")
    clone = held.parent / "clone"
    box.write("src/b.py", cwd=clone)
    box.done("git", "commit", "-qam", "elsewhere", cwd=clone)
    allowed(box.git("pull", "-q", "--ff-only", "../clone", "main", agent="ana"))
    assert box.done("git", "log", "-1", "--format=%s") == "elsewhere\n"


@pytest.mark.parametrize("url", [".", ".git", "{root}", "{root}/.git", "file://{root}", "../linked", "../on of/way"])
def test_what_was_fetched_from_here_was_made_here(box: Box, held: Path, url: str) -> None:
    """Fetching from this very repository, by whatever name, makes nobody else the author."""
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "other")
    (held.parent / "on of").mkdir()
    (held.parent / "on of/way").symlink_to(held)
    made = _commit(box, "src/b.py")
    box.done("git", "config", "uploadpack.allowAnySHA1InWant", "true")
    box.done("git", "fetch", "-q", url.format(root=held), made)
    refused(box.git("update-ref", "HEAD", made, agent="ana"), "src/b.py")


def test_the_order_of_parents_hides_nothing(box: Box, held: Path) -> None:
    """A merge changes the checkout by what it brings, also where the branch that stood there comes second."""
    side = _commit(box, "src/b.py")
    box.done("git", "branch", "side", side)
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    tree = box.done("git", "merge-tree", "--write-tree", "HEAD", "side").strip()
    made = box.done("git", "commit-tree", "-p", "side", "-p", "HEAD", "-m", "merge", tree).strip()
    refused(box.git("update-ref", "HEAD", made, agent="ana"), "src/b.py")


def test_a_branch_under_another_name_is_the_branch(box: Box, held: Path) -> None:
    """A checkout that stands on a symbolic branch moves with the one that it leads to."""
    linked = held.parent / "linked"
    for name, target in (("beta", "real"), ("alpha", "beta")):
        box.done("git", "symbolic-ref", f"refs/heads/{name}", f"refs/heads/{target}")
    box.done("git", "branch", "real")
    box.done("git", "worktree", "add", "-q", linked, "--detach")
    box.done("git", "symbolic-ref", "HEAD", "refs/heads/alpha", cwd=linked)
    claim(box, "bob", "src/a.py", cwd=linked, task="t2")
    refused(box.git("update-ref", "refs/heads/real", _commit(box, "src/a.py"), agent="ana"), "src/a.py")


def test_an_object_that_stands_for_another_hides_nothing(box: Box, held: Path) -> None:
    """`git replace` makes Git itself take one commit for another; what is judged is what is committed."""
    made = _commit(box, "src/b.py")
    head = box.done("git", "rev-parse", "HEAD").strip()
    box.done("git", "replace", made, head)
    refused(box.git("update-ref", "refs/heads/main", made, head, agent="ana"), "src/b.py")
    box.done("git", "replace", "-d", made)
    changed = box.done("git", "rev-parse", f"{made}^{{tree}}").strip()
    box.done("git", "replace", f"{head}^{{tree}}", changed)
    box.write("src/b.py", "plumbed\n")
    box.done("git", "add", "src/b.py")
    refused(box.git("commit", "-q", "--allow-empty", "-m", "x", agent="ana"), "src/b.py")


@pytest.mark.parametrize(
    "setting", ["log.date=nonsense", "log.diffMerges=nonsense", "log.showRoot=nonsense", "diff.algorithm=nonsense"]
)
def test_settings_of_no_concern_break_no_verdict(box: Box, held: Path, setting: str) -> None:
    """Git's commands for people stumble over them; commits and plumbing do not, and neither does the guard."""
    box.done("git", "config", *setting.split("="))
    allowed(box.git("update-ref", "HEAD", _commit(box, "src/a.py"), agent="ana"))
    refused(box.git("update-ref", "HEAD", _commit(box, "src/b.py"), agent="ana"), "src/b.py")


def test_amending_by_hand_is_judged_by_what_it_changes(box: Box, held: Path) -> None:
    """A held path that the dropped commit had changed, and the new one does not, is changed back."""
    box.write("src/b.py")
    allowed(box.git("commit", "-qam", "x", agent="bob"))
    again = box.done("git", "commit-tree", "-p", "HEAD~1", "-m", "same", "HEAD^{tree}").strip()
    allowed(box.git("update-ref", "HEAD", again, agent="ana"))
    without = box.done("git", "commit-tree", "-p", "HEAD~1", "-m", "without", "HEAD~1^{tree}").strip()
    refused(box.git("update-ref", "HEAD", without, agent="ana"), "src/b.py")


def test_a_merge_by_hand_changes_what_it_brings(box: Box, held: Path) -> None:
    """In the checkout all that the merge brings moves under its holder's feet."""
    box.done("git", "branch", "side", _commit(box, "src/b.py"))
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    made = box.done("git", "commit-tree", "-p", "HEAD", "-p", "side", "-m", "merge", "side^{tree}").strip()
    refused(box.git("update-ref", "HEAD", made, agent="ana"), "src/b.py")


def test_a_claim_that_comes_while_the_editor_is_open(box: Box, held: Path) -> None:
    """Granted after the first hook passed, it still stops the commit, and the index is kept."""
    box.write("docs/guide.md")
    box.done("git", "add", ".")
    editor = script(box.home / "editor", 'synapse-git claim --agent bob -t t2 -- docs/guide.md && echo message >"$1"')
    ended = refused(box.git("commit", agent="ana", env={"GIT_EDITOR": str(editor)}), "docs/guide.md")
    assert "displaced" not in ended.err
    assert box.done("git", "status", "--porcelain") == "M  docs/guide.md\n"
    allowed(box.synapse("release", "-t", "t2", agent="bob"))
    allowed(box.git("commit", "-qm", "later", agent="ana"))


def test_hooks_that_were_displaced_are_missed(box: Box, held: Path) -> None:
    """Where another tool has replaced the others, the backstop judges, and says that they are gone."""
    for name in ("pre-commit", "prepare-commit-msg"):
        script(held / ".git/hooks" / name, "exit 0")
    box.write("src/a.py")
    ended = allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert "displaced" in ended.err
    box.write("src/b.py")
    ended = refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    assert "synapse-git install" in ended.err
    allowed(box.synapse("install"))
    assert "displaced" not in refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py").err


def test_a_chained_hook_reads_every_line_in_every_state(box: Box, held: Path) -> None:
    """The hook that was there sees what Git says, whether we had to read it or not."""
    allowed(box.synapse("uninstall"))
    script(held / ".git/hooks/reference-transaction", '{ echo "$1"; sed "s/^.* //"; } >>$HOME/log')
    box.write("src/a.py")
    box.done("git", "commit", "-qam", "x")
    before = log(box)
    assert "refs/heads/main" in before
    allowed(box.synapse("install"))
    box.write("src/a.py", "more\n")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert log(box) == before
    script(held / ".git" / KEPT, 'echo "$1: $(cat)" >>$HOME/log')
    made = _commit(box, "src/a.py")
    log(box)
    allowed(box.git("update-ref", "HEAD", made, agent="ana"))
    lines = log(box)
    assert any(line.startswith("prepared: ") and made in line for line in lines)
    assert len([line for line in lines if made in line]) >= 3  # newer Git names HEAD in another state


def test_a_chained_hook_without_an_interpreter_line_runs(box: Box, held: Path) -> None:
    """What Git would give to a shell, we do as well; and its veto counts."""
    hook = held / ".git/hooks/reference-transaction"
    made = _commit(box, "src/a.py")
    allowed(box.synapse("uninstall"))
    hook.write_text('read line\necho "$1 $line" >>$HOME/log\n[ "$1" != prepared ]\n')
    hook.chmod(0o755)
    allowed(box.synapse("install"))
    assert box.git("update-ref", "HEAD", made, agent="ana").code != 0
    states = [line.split(" ")[0] for line in log(box)]
    assert [state for state in states if state != "preparing"][:2] == ["prepared", "aborted"]


def test_very_many_references_cost_little(box: Box, held: Path) -> None:
    """An update of thousands of references passes, and one that matters among them is found."""
    made = _commit(box, "src/b.py")
    head = box.done("git", "rev-parse", "HEAD").strip()
    many = "".join(f"update refs/remotes/x/{number} {head}\n" for number in range(2000))
    allowed(box.git("update-ref", "--stdin", agent="ana", stdin=many.encode()))
    again = "".join(f"update refs/remotes/y/{number} {head}\n" for number in range(2000))
    refused(box.git("update-ref", "--stdin", agent="ana", stdin=(again + f"update HEAD {made}\n").encode()))


def test_pushing_into_a_guarded_checkout_is_judged(box: Box, held: Path) -> None:
    """Files that a push would change here belong to their holder."""
    box.done("git", "config", "receive.denyCurrentBranch", "updateInstead")
    box.done("git", "clone", "-q", held, "../clone")
    clone = held.parent / "clone"
    for path in ("src/b.py", "src/a.py"):
        box.write(path, cwd=clone)
        box.done("git", "commit", "-qm", "x", path, cwd=clone)
        assert box.git("push", "-q", "origin", "HEAD", agent="ana", cwd=clone).code != 0
        box.done("git", "reset", "-q", "--hard", "origin/main", cwd=clone)
        if path == "src/b.py":
            allowed(box.synapse("release", "-t", "t1", agent="bob"))
            claim(box, "bob", "src/a.py", task="t2")


@pytest.mark.parametrize("kind", ["main", "linked", "submodule"])
def test_a_push_into_a_checkout_meets_its_policy_and_its_tree(box: Box, held: Path, kind: str) -> None:
    """The tracked file of that very checkout counts, and what is held in the superproject."""
    place, name = {"main": held, "linked": held.parent / "linked", "submodule": held / "lib"}[kind], "main"
    if kind == "linked":
        box.done("git", "worktree", "add", "-q", place, "-b", "side")
        name = "side"
    elif kind == "submodule":
        box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", box.init("../seed"), "lib")
        allowed(box.synapse("install"))
    box.done("git", "config", "receive.denyCurrentBranch", "updateInstead", cwd=place)
    box.done("git", "clone", "-q", "-b", name, place, "../clone")
    clone = held.parent / "clone"
    box.write("docs/new", cwd=clone)
    box.done("git", "add", ".", cwd=clone)
    box.done("git", "commit", "-qm", "x", cwd=clone)
    if kind == "submodule":
        claim(box, "bob", "lib/docs", task="t2")
        refused(box.git("push", "-q", "origin", "HEAD", agent="ana", cwd=clone), "lib/docs/new")
        return
    box.write(".synapse.toml", '[guard]\nunclaimed = "refuse"\n', cwd=place)
    ended = box.git("push", "-q", "origin", "HEAD", agent="ana", cwd=clone)
    assert ended.code != 0 and "UNCLAIMED" in ended.err, ended.text
    (place / ".synapse.toml").unlink()
    allowed(box.git("push", "-q", "origin", "HEAD", agent="ana", cwd=clone))


def test_in_include_mode_the_backstop_judges_once(box: Box, held: Path) -> None:
    """The hook in the repository's own directory does not judge a second time after the user's own."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    allowed(box.synapse("install"))
    assert (held / ".git/hooks/reference-transaction").exists()
    assert not (held / ".git/hooks/pre-commit").exists()
    made = _commit(box, "src/b.py")
    box.done("git", "config", "--unset", "core.hooksPath", ".githooks")
    ended = refused(box.git("update-ref", "HEAD", made, agent="ana"), "src/b.py")
    assert ended.err.count("SCOPE_CONFLICT") == 1
    allowed(box.git("update-ref", "HEAD", made, agent="bob"))
    act(box, "uninstall")
    assert not (held / ".git/hooks/reference-transaction").exists()
