"""One operation starts one Python, and is judged again whenever something has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import SAYS_LESS, allowed, claim, count_starts, log, refused, script


@pytest.fixture
def counted(box: Box, repo: Path) -> Path:
    """A guarded repository with a claim of bob's, whose hooks note each start of Python."""
    claim(box, "bob", "src/b.py")
    count_starts(repo / ".git/hooks", box)
    return repo


@pytest.mark.parametrize(
    "form", [["-qam", "x"], ["-qm", "x", "src/a.py"], ["-qm", "x", "-i", "src/a.py"]], ids=["all", "path", "include"]
)
def test_a_commit_starts_one(box: Box, counted: Path, form: list[str]) -> None:
    """The first hook judges, the later ones pass; so it is next time."""
    for number in range(2):
        box.write("src/a.py", f"{number}\n")
        allowed(box.git("commit", *form, agent="ana"))
        assert log(box) == ["pre-commit"]


def test_without_verification_the_next_hook_judges(box: Box, counted: Path) -> None:
    """-n skips one hook, and with it no judgement."""
    box.write("src/a.py")
    allowed(box.git("commit", "-n", "-qam", "x", agent="ana"))
    assert log(box) == ["prepare-commit-msg"]


def test_an_empty_commit_and_a_reworded_one_start_one(box: Box, counted: Path) -> None:
    """Where there is nothing to ask about, later hooks pass as well."""
    allowed(box.git("commit", "-q", "--amend", "-m", "y", agent="ana"))
    assert log(box) == ["pre-commit"]
    allowed(box.git("commit", "-q", "--allow-empty", "-m", "x", agent="ana"))
    assert log(box) == ["pre-commit"]


def test_in_a_linked_worktree_with_and_without_claims(box: Box, counted: Path) -> None:
    """A checkout in which nobody ever claimed anything is no slower."""
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    log(box)
    box.cwd = counted.parent / "linked"
    for text in ("one\n", "two\n"):
        box.write("src/a.py", text)
        allowed(box.git("commit", "-qam", "x", agent="ana"))
        assert log(box) == ["pre-commit"]
        claim(box, "bob", "docs", task="t2")


def test_a_merge_and_each_pick_start_one(box: Box, counted: Path) -> None:
    """A merge is one operation; a rebase is as many as it has commits."""
    box.done("git", "checkout", "-q", "-b", "side")
    for name in ("one", "two"):
        box.write(name)
        box.done("git", "add", name)
        allowed(box.git("commit", "-qm", name, agent="ana"))
    box.done("git", "checkout", "-q", "-b", "third")
    box.done("git", "checkout", "-q", "main")
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    log(box)
    allowed(box.git("merge", "-q", "--no-edit", "side", agent="ana"))
    assert log(box) == ["pre-merge-commit"]
    box.done("git", "reset", "-q", "--hard", "HEAD~1")
    box.done("git", "checkout", "-q", "third")
    log(box)
    allowed(box.git("rebase", "-q", "main", agent="ana"))
    assert [line for line in log(box) if line != "reference-transaction"] == ["prepare-commit-msg"] * 2


def test_a_hook_that_stages_something_is_judged_again(box: Box, counted: Path) -> None:
    """A formatter runs after the check; what it puts into the index is not taken for judged."""
    allowed(box.synapse("uninstall"))
    script(counted / ".git/hooks/pre-commit", "[ ! -e $HOME/stage ] || git add src/b.py")
    allowed(box.synapse("install"))
    count_starts(counted / ".git/hooks", box)
    box.write("src/a.py")
    box.write("src/b.py")
    box.done("git", "add", "src/a.py")
    (box.home / "stage").touch()
    refused(box.git("commit", "-qm", "x", agent="ana"), "src/b.py")
    assert log(box) == ["pre-commit", "prepare-commit-msg"]


@pytest.mark.parametrize(
    "put",
    [
        'cat $HOME/copy >"$GIT_INDEX_FILE"',
        'cp -p $HOME/copy "$GIT_INDEX_FILE"',
        'i="$GIT_INDEX_FILE"; touch -r "$i" $HOME/time && cat $HOME/copy >"$i" && touch -r $HOME/time "$i"',
    ],
    ids=["written", "copied", "of the same time"],
)
def test_a_hook_that_rewrites_the_index_in_place_is_judged_again(box: Box, counted: Path, put: str) -> None:
    """The file is the same, what it holds is not, whichever time it says it is of."""
    allowed(box.synapse("uninstall"))
    rewrite = f"GIT_INDEX_FILE=$HOME/copy git add src/b.py && {put}"
    script(counted / ".git/hooks/pre-commit", f'cp "$GIT_INDEX_FILE" $HOME/copy\n{rewrite}')
    allowed(box.synapse("install"))
    count_starts(counted / ".git/hooks", box)
    box.write("src/a.py")
    box.write("src/b.py")
    box.done("git", "add", "src/a.py")
    refused(box.git("commit", "-qm", "x", agent="ana"), "src/b.py")
    assert log(box) == ["pre-commit", "prepare-commit-msg"]


def test_what_a_hook_stages_too_late_is_in_nobodys_way(box: Box, counted: Path) -> None:
    """Git has read the index before a patch's hook runs, and commits without what that adds."""
    allowed(box.synapse("uninstall"))
    script(counted / ".git/hooks/pre-applypatch", "echo more >src/b.py; git add src/b.py")
    box.write("src/a.py")
    box.done("git", "commit", "-qam", "x")
    box.done("git", "format-patch", "-q", "-1", "-o", "../patches")
    box.done("git", "reset", "-q", "--hard", "HEAD~1")
    allowed(box.synapse("install"))
    allowed(box.run("sh", "-c", "git am -q ../patches/*", agent="ana"))
    assert box.done("git", "diff", "--name-only", "HEAD~1", "HEAD") == "src/a.py\n"
    assert box.done("git", "diff", "--name-only") == "src/b.py\n"


def test_another_hook_is_started_by_git_itself(box: Box, counted: Path) -> None:
    """Many a hook asks its parent what was typed.."""
    allowed(box.synapse("uninstall"))
    script(counted / ".git/hooks/pre-commit", "ps -o args= -p $PPID >>$HOME/log")
    allowed(box.synapse("install"))
    count_starts(counted / ".git/hooks", box)
    for number in range(2):
        box.write("src/a.py", f"{number}\n")
        box.done("git", "add", "src/a.py")
        allowed(box.git("commit", "-qm", "x", agent="ana"))
        first, parent = log(box)
        assert first == "pre-commit" and parent.endswith("git commit -qm x")


@pytest.mark.parametrize("path", ["docs", "src/a.py"])
def test_a_grant_in_between_is_judged_again(box: Box, counted: Path, path: str) -> None:
    """Whatever was granted while the editor was open, the hub is asked anew."""
    editor = script(box.home / "editor", f'synapse-git claim --agent bob -t t2 -- {path} && echo message >"$1"')
    box.write("src/a.py")
    ended = box.git("commit", "-a", agent="ana", env={"GIT_EDITOR": str(editor)})
    assert log(box) == ["pre-commit", "reference-transaction"]
    if path == "docs":
        allowed(ended)
    else:
        refused(ended, path)


def test_a_hub_that_was_named_is_asked_by_every_hook(box: Box, counted: Path) -> None:
    """SYNAPSE_HUB may lead to a hub whose grants are not seen from here."""
    socket = (box.state / "address").read_text().strip()
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana", env={"SYNAPSE_HUB": socket}))
    # One that Git starts twice, by its configuration and by its place, is twice in the log.
    assert list(dict.fromkeys(log(box))) == ["pre-commit", "prepare-commit-msg", "reference-transaction"]


def test_in_include_mode_it_is_one_as_well(box: Box, counted: Path) -> None:
    """The hooks of the user's own share one verdict too, and every displaced hook runs."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        script(counted / ".githooks" / name, f"echo own-{name} >>$HOME/log")
    allowed(box.synapse("install"))
    count_starts(Path(box.env["XDG_DATA_HOME"]) / "synapse-git/hooks", box)
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert log(box) == [
        "pre-commit",
        "own-pre-commit",
        "own-prepare-commit-msg",
        "own-commit-msg",
        "own-post-commit",
    ]


def test_references_that_concern_nobody_start_none(box: Box, counted: Path) -> None:
    """Tags, stashes, fetches, resets to where one is."""
    log(box)
    box.write("src/a.py")
    for command in (["tag", "x"], ["stash", "-q"], ["stash", "pop", "-q"], ["reset", "-q"], ["fetch", "-q", "."]):
        allowed(box.git(*command, agent="ana"))
    assert log(box) == ["reference-transaction"] * 2 * SAYS_LESS
