"""Commits in all their forms, judged by what they would really change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import allowed, claim, picture, refused


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """A guarded repository in which bob holds ``src/b.py``."""
    claim(box, "bob", "src/b.py")
    return repo


def _edit(box: Box, *paths: str, text: str = "changed\n") -> None:
    for path in paths:
        box.write(path, text)


@pytest.mark.parametrize(
    "form",
    [
        ["-qam", "x"],
        ["-qm", "x", "src/b.py"],
        ["-qm", "x", "-o", "src/b.py"],
        ["-qm", "x", "-i", "src/a.py", "src/b.py"],
        ["-n", "-qam", "x"],
        ["-q", "--amend", "--no-edit", "-a"],
        ["-qam", "fixup! base"],
        ["-q", "--fixup", "HEAD", "-a"],
        ["-q", "--squash", "HEAD", "-a", "-m", "x"],
        ["-q", "-C", "HEAD", "-a"],
    ],
    ids=" ".join,
)
def test_a_held_path_is_refused_however_it_is_committed(box: Box, held: Path, form: list[str]) -> None:
    """Every form of git commit is judged by the index it would commit."""
    _edit(box, "src/a.py", "src/b.py")
    refused(box.git("commit", *form, agent="ana"), "src/b.py")
    allowed(box.git("commit", *form, agent="bob"))


def test_staged_paths_that_are_not_committed_are_not_judged(box: Box, held: Path) -> None:
    """``commit PATH`` is judged by PATH, with other things staged and unstaged; ``-i`` takes the staged along."""
    _edit(box, "src/a.py", "src/b.py")
    box.done("git", "add", "src/b.py")
    allowed(box.git("commit", "-qm", "x", "src/a.py", agent="ana"))
    _edit(box, "src/a.py", text="again\n")
    refused(box.git("commit", "-qm", "x", "-i", "src/a.py", agent="ana"), "src/b.py")


def test_an_amended_message_changes_no_path(box: Box, held: Path) -> None:
    """Rewording and empty commits touch nobody's files."""
    allowed(box.git("commit", "-q", "--amend", "-m", "reworded", agent="ana"))
    allowed(box.git("commit", "-q", "--allow-empty", "-m", "empty", agent="ana"))


def test_the_first_commit_is_judged(box: Box, repo: Path) -> None:
    """Without a HEAD everything in the index is new, and the way to leave a path out fits."""
    box.cwd = repo.parent / "fresh"
    box.done("git", "init", "-q", box.cwd, cwd=repo)
    allowed(box.synapse("install"))
    claim(box, "bob", "held.txt")
    _edit(box, "held.txt", "free.txt")
    box.done("git", "add", ".")
    ended = refused(box.git("commit", "-qm", "x", agent="ana"), "held.txt")
    assert "git rm --cached -- held.txt" in ended.err
    box.done("git", "rm", "-q", "--cached", "held.txt")
    allowed(box.git("commit", "-qm", "x", agent="ana"))


@pytest.mark.parametrize("change", ["delete", "mode", "symlink", "rename", "rename-into", "gitlink"])
def test_every_kind_of_change_counts(box: Box, held: Path, change: str) -> None:
    """Deletions, modes, types, both names of a rename, and submodules."""
    if change == "delete":
        box.done("git", "rm", "-q", "src/b.py")
    elif change == "mode":
        (held / "src/b.py").chmod(0o755)
    elif change == "symlink":
        (held / "src/b.py").unlink()
        (held / "src/b.py").symlink_to("a.py")
    elif change == "rename":
        box.done("git", "mv", "src/b.py", "elsewhere.py")
    elif change == "rename-into":
        claim(box, "bob", "pkg", task="t2")
        (held / "pkg").mkdir()
        box.done("git", "mv", "src/a.py", "pkg/a.py")
    else:
        box.done("git", "rm", "-q", "src/b.py")
        box.done("git", "init", "-q", "src/b.py")
        box.done("git", "commit", "-q", "--allow-empty", "-m", "inner", cwd=held / "src/b.py")
        box.done("git", "-c", "advice.addEmbeddedRepo=false", "add", "src/b.py")
    box.done("git", "-c", "advice.addEmbeddedRepo=false", "add", "-A")
    refused(box.git("commit", "-qm", "x", agent="ana"), "pkg/a.py" if change == "rename-into" else "src/b.py")


def test_a_submodule_that_git_is_told_to_ignore_still_counts(box: Box, repo: Path) -> None:
    """What a commit records is judged, whatever is shown of it."""
    seed = box.init("seed")
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", seed, "lib")
    box.done("git", "commit", "-qm", "sub")
    claim(box, "bob", "lib")
    box.done("git", "config", "submodule.lib.ignore", "all")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=repo / "lib")
    box.done(
        "git",
        "update-index",
        "--cacheinfo",
        f"160000,{box.done('git', 'rev-parse', 'HEAD', cwd=repo / 'lib').strip()},lib",
    )
    refused(box.git("commit", "-qm", "x", agent="ana"), "lib")


def test_inside_a_submodule_paths_are_the_superprojects(box: Box, repo: Path) -> None:
    """A claim made from the superproject covers the file that a commit inside the submodule changes."""
    seed = box.init("seed")
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", seed, "lib")
    box.done("git", "commit", "-qm", "sub")
    allowed(box.synapse("install", cwd=repo / "lib"))
    claim(box, "bob", "lib/src/b.py")
    claim(box, "bob", "src/a.py", task="t2")
    box.cwd = repo / "lib"
    _edit(box, "src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    _edit(box, "src/b.py")
    refused(box.git("commit", "-qam", "x", agent="ana"), "lib/src/b.py")
    allowed(box.synapse("install", "--agent", "bob"))
    allowed(box.git("commit", "-qam", "x"))


def test_intent_to_add_is_not_yet_a_change(box: Box, held: Path) -> None:
    """A path that Git would leave out of the commit is not judged."""
    claim(box, "bob", "new.txt", task="t2")
    _edit(box, "new.txt", "src/a.py")
    box.done("git", "add", "-N", "new.txt")
    box.done("git", "add", "src/a.py")
    allowed(box.git("commit", "-qm", "x", agent="ana"))
    box.done("git", "add", "new.txt")
    refused(box.git("commit", "-qm", "x", agent="ana"), "new.txt")


@pytest.mark.parametrize(
    "name",
    [
        "日本語.md",
        "with space",
        "it's",
        "new\nline",
        'quo"te',
        "-dash",
        "back\\slash",
        "*",
        "\udcff\udcfe",
        " lead",
        "tab\t",
    ],
)
def test_any_name_that_git_can_store(box: Box, repo: Path, name: str) -> None:
    """Claimed, committed by another and refused, then committed by the holder."""
    file = os.fsencode(repo / "odd") + b"/" + os.fsencode(name)
    os.mkdir(repo / "odd")
    with open(file, "w") as stream:
        stream.write("x")
    ended = box.synapse("claim", "-t", "t1", "--", b"odd/" + os.fsencode(name), agent="bob")
    assert ended.code == 0, ended.text
    box.done("git", "add", "-A")
    refused(box.git("commit", "-qm", "x", agent="ana"))
    allowed(box.git("commit", "-qm", "x", agent="bob"))


@pytest.mark.parametrize("where", ["", "src"])
def test_the_way_to_leave_a_path_out_can_be_typed(box: Box, repo: Path, where: str) -> None:
    """The command that a refusal names works as it stands and where one is, for a name that a shell would mangle."""
    claim(box, "bob", "it's $HOME.txt")
    _edit(box, "it's $HOME.txt", "src/a.py")
    box.done("git", "add", "-A")
    ended = refused(box.git("commit", "-qm", "x", agent="ana", cwd=repo / where))
    command = next(line.partition(":  ")[2] for line in ended.err.splitlines() if line.startswith("Leave it out:"))
    box.done("sh", "-c", command, cwd=repo / where)
    allowed(box.git("commit", "-qm", "x", agent="ana"))


def test_where_case_does_not_count(box: Box, repo: Path) -> None:
    """With core.ignorecase another spelling is the same file, and Git's own is offered to leave it out."""
    box.done("git", "config", "core.ignorecase", "true")
    claim(box, "bob", "DOCS/Guide.MD")
    _edit(box, "docs/guide.md")
    box.done("git", "add", "-A")
    ended = refused(box.git("commit", "-qm", "x", agent="ana"), "docs/guide.md")
    assert "git restore --staged -- docs/guide.md" in ended.err


def test_from_a_subdirectory_of_a_linked_worktree(box: Box, held: Path) -> None:
    """Claims of one worktree say nothing about another, wherever in it the commit is made."""
    box.done("git", "config", "diff.relative", "true")
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    box.cwd = held.parent / "linked"
    _edit(box, "src/b.py")
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=box.cwd / "docs"))
    claim(box, "bob", "src/b.py", task="t2")
    _edit(box, "src/b.py", text="more\n")
    refused(box.git("commit", "-qam", "x", agent="ana", cwd=box.cwd / "docs"), "src/b.py")


def test_thousands_of_files(box: Box, held: Path) -> None:
    """A commit of 3,000 files is judged whole, the last one held or not."""
    claim(box, "bob", "many/zzz", task="t2")
    for number in range(3000):
        _edit(box, f"many/{'n' * 80}{number}")
    _edit(box, "many/zzz")
    box.done("git", "add", "many")
    refused(box.git("commit", "-qm", "x", agent="ana"), "many/zzz")
    box.done("git", "rm", "-q", "--cached", "many/zzz")
    allowed(box.git("commit", "-qm", "x", agent="ana"))


def test_a_refusal_leaves_no_debris(box: Box, held: Path) -> None:
    """Index, work tree and locks are as before, for each way to commit."""

    def found() -> tuple[str, set[str], dict[str, tuple[str, str]]]:
        everything = picture(held)
        files = {name: entry for name, entry in everything.items() if not name.startswith(".git/")}
        # The hub's watcher takes its post whenever it comes to it.
        names = {name for name in everything if "/objects/" not in name and name != ".git/synapse/watching"}
        return box.done("git", "ls-files", "-s"), names, files

    _edit(box, "src/a.py", "src/b.py")
    box.done("git", "add", "src/b.py")
    refused(box.git("commit", "-m", "x", agent="ana"), "src/b.py")
    before = found()
    for form in (["-m", "x"], ["-am", "x"], ["-m", "x", "--", "src/b.py"], ["-nm", "x"]):
        refused(box.git("commit", *form, agent="ana"), "src/b.py")
        assert found() == before
    assert not [name for name in before[1] if name.endswith(".lock")]
    allowed(box.git("commit", "-qm", "x", agent="bob"))


def test_the_shared_tree_counts_in_every_worktree(box: Box, repo: Path) -> None:
    """A claim on the namespace's shared tree is respected by all checkouts of it."""
    allowed(box.synapse("claim", "--shared", "-t", "t1", "--", "src/b.py", agent="bob"))
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    for cwd in (repo, repo.parent / "linked"):
        box.write("src/b.py", cwd=cwd)
        refused(box.git("commit", "-qam", "x", agent="ana", cwd=cwd), "src/b.py")


def test_an_index_named_by_the_user(box: Box, held: Path) -> None:
    """GIT_INDEX_FILE names the index that is committed, and so the one that is judged."""
    elsewhere = {"GIT_INDEX_FILE": str(held.parent / "index")}
    box.done("git", "read-tree", "HEAD", env=elsewhere)
    _edit(box, "src/b.py", "src/a.py")
    box.done("git", "add", "src/a.py", env=elsewhere)
    box.done("git", "add", "src/b.py")
    allowed(box.git("commit", "-qm", "x", agent="ana", env=elsewhere))
    box.done("git", "add", "src/b.py", env=elsewhere)
    refused(box.git("commit", "-qm", "x", agent="ana", env=elsewhere), "src/b.py")


def test_a_copy_of_the_repository_is_another_one(box: Box, held: Path) -> None:
    """Claims of the original say nothing about its copy."""
    copy = held.parent / "copy"
    box.done("cp", "-R", held, copy)
    box.write("src/b.py", cwd=copy)
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=copy))
    _edit(box, "src/b.py")
    refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")


def test_the_default_agent_of_a_worktree_commits_under_its_name(box: Box, held: Path) -> None:
    """Whoever a worktree belongs to need not say so at each commit."""
    allowed(box.synapse("install", "--agent", "bob"))
    _edit(box, "src/b.py")
    allowed(box.git("commit", "-qam", "x"))
    _edit(box, "src/b.py", text="again\n")
    refused(box.git("commit", "-qam", "x", agent="ana"))
    for copy in ("synapse/agent", "synapse.agent"):
        (held / ".git" / copy).write_bytes(b"")
    ended = box.git("commit", "-qam", "x")
    assert ended.code != 0 and "synapse-git install --agent NAME" in ended.err, ended.text
    for told in (box.synapse("status"), box.synapse("doctor")):
        assert "synapse-git install --agent NAME" in told.text, told.text
    allowed(box.synapse("install", "--agent", "bob"))
    allowed(box.git("commit", "-qam", "x"))


def test_a_name_that_cannot_be_used_is_refused(box: Box, held: Path) -> None:
    """Nobody commits under a name that the hub would not take."""
    _edit(box, "src/a.py")
    ended = box.git("commit", "-qam", "x", env={"SYNAPSE_AGENT": "two\nlines"})
    assert ended.code == 1
    assert "SYNAPSE_AGENT" in ended.err


def test_the_way_out_names_what_cannot_be_shown(box: Box, repo: Path) -> None:
    """Typed as it stands it leaves everything out that is held, whatever it is called."""
    names = [b"src/odd\nname", b"src/it's \xff", "src/\N{SNOWMAN}\x01".encode(), b"src/plain"]
    for name in names:
        Path(os.fsdecode(os.fsencode(repo) + b"/" + name)).write_text("x\n")
    claim(box, "bob", "src")
    box.done("git", "add", ".")
    ended = refused(box.git("commit", "-qm", "x", agent="ana"))
    hint = next(line for line in ended.err.splitlines() if line.startswith("Leave it out:"))
    box.done("bash", "-c", hint.partition(":")[2])
    assert box.done("git", "diff", "--cached", "--name-only") == ""
