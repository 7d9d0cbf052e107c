"""Which checkout is it, and what are its paths called: on real repositories."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from synapse_git import checkout
from synapse_git.checkout import Checkout
from synapse_git.errors import CheckoutError
from tests.box import Box


@pytest.fixture
def top(box: Box) -> Path:
    """A plain repository with a commit."""
    box.cwd = box.init()
    return box.cwd


def find(box: Box, where: Path) -> Checkout:
    return checkout.find(str(where), box.env)


def test_an_id_is_made_once_and_never_by_a_query(box: Box, top: Path) -> None:
    """A query finds nothing and leaves nothing."""
    assert find(box, top).tree() == "" and find(box, top).namespace() == ""
    assert not (top / ".git/synapse").exists()
    made = find(box, top).tree(create=True)
    assert made.startswith("wt:") and find(box, top / "src").tree() == made == find(box, top).tree(create=True)


def test_inv_me_3_linked_worktrees_are_other_trees_of_one_namespace(box: Box, top: Path) -> None:
    """Wherever they lie, also inside the main checkout."""
    box.done("git", "worktree", "add", "-q", "inner")
    box.done("git", "worktree", "add", "-q", "../outer")
    trees = {find(box, where).tree(create=True) for where in (top, top / "inner", top.parent / "outer")}
    spaces = {find(box, where).namespace(create=True) for where in (top, top / "inner", top.parent / "outer")}
    assert len(trees) == 3 and len(spaces) == 1
    assert find(box, top / "inner").locate("x", str(top / "inner")) == "x"


def test_a_moved_worktree_keeps_its_id_and_a_copy_gets_its_own(box: Box, top: Path) -> None:
    """By device and inode of the git dir, whatever the path."""
    mine = find(box, top).tree(create=True)
    moved = top.rename(top.parent / "moved")
    assert find(box, moved).tree() == mine
    shutil.copytree(moved, top.parent / "copy", symlinks=True)
    assert find(box, top.parent / "copy").tree() == ""
    assert find(box, top.parent / "copy").tree(create=True) != mine
    assert find(box, moved).tree() == mine


def test_a_worktree_under_a_name_used_before_inherits_nothing(box: Box, top: Path) -> None:
    """The id went with the old one's git dir."""
    box.done("git", "worktree", "add", "-q", "../wt")
    first = find(box, top.parent / "wt").tree(create=True)
    box.done("git", "worktree", "remove", "--force", "../wt")
    box.done("git", "worktree", "add", "-q", "../wt")
    assert find(box, top.parent / "wt").tree() == "" != first


def test_git_worktree_move_keeps_the_id(box: Box, top: Path) -> None:
    """Git moves the files and keeps the git dir."""
    box.done("git", "worktree", "add", "-q", "../wt")
    first = find(box, top.parent / "wt").tree(create=True)
    box.done("git", "worktree", "move", "../wt", "../elsewhere")
    assert find(box, top.parent / "elsewhere").tree() == first


def test_a_submodule_s_paths_are_the_superproject_s(box: Box, top: Path) -> None:
    """One file, one name, whichever way it is reached; and the hook agrees with the command line."""
    seed = box.init("../seed")
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(seed), "libs/one")
    inner = top / "libs/one"
    outside, inside = find(box, top), find(box, inner)
    assert outside.tree(create=True) == inside.tree()
    assert outside.locate("libs/one/src/a.py", str(top)) == inside.locate("src/a.py", str(inner)) == "libs/one/src/a.py"
    git_dir = top / ".git/modules/libs/one"
    told = box.env | {"GIT_DIR": str(git_dir)}
    both = told | {"GIT_WORK_TREE": str(inner)}
    places = ((inner, box.env), (inner, told), (git_dir, told), (git_dir / "refs", told), (box.home, told))
    for cwd, env in (*places, (inner, both), (box.home, both)):
        hook = checkout.around_hook(str(cwd), env)
        assert hook.tree() == inside.tree() and hook.spell("src/a.py") == "libs/one/src/a.py", cwd


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("../docs/guide.md", "docs/guide.md"),
        ("src/new/file", "src/new/file"),
        (".", ""),
        ("../repo", ""),
        ("link", "link"),
        ("link/a.py", "src/a.py"),
        ("link/", "src"),
    ],
)
def test_what_a_person_types_is_found_in_the_tree(box: Box, top: Path, given: str, expected: str) -> None:
    """A symlink is its own path, a path through one is the place it leads to."""
    (top / "link").symlink_to("src")
    where = top / "docs" if given.startswith("../docs") else top
    assert find(box, top).locate(given, str(where)) == expected
    if given.startswith(("src", ".")) and not given.startswith(".."):
        assert find(box, top).locate(str(where / given), "/") == expected


def test_a_symlinked_way_to_the_checkout_is_the_same_checkout(box: Box, top: Path) -> None:
    """Claims through it and beside it meet."""
    way = top.parent / "way"
    way.symlink_to(top)
    tree = find(box, top).tree(create=True)
    assert find(box, way).tree() == tree
    assert find(box, way).locate(str(way / "src/a.py"), "/") == "src/a.py"
    assert find(box, top).locate(str(way / "src/a.py"), "/") == "src/a.py"


@pytest.mark.parametrize("given", ["..", "../other", "/etc/passwd", "src/../../x", "out/x"])
def test_a_path_outside_is_refused(box: Box, top: Path, given: str) -> None:
    """Also through a symlink that leads out."""
    (top / "out").symlink_to("/tmp")
    with pytest.raises(CheckoutError, match="outside"):
        find(box, top).locate(given, str(top))


def test_case_folds_where_the_repository_says_so(box: Box, top: Path) -> None:
    """``core.ignorecase`` of the repository, seen by command line and hook alike."""
    assert find(box, top).locate("SRC/A.py", str(top)) == "SRC/A.py"
    box.done("git", "config", "core.ignorecase", "true")
    assert find(box, top).locate("SRC/A.py", str(top)) == "src/a.py"


def test_a_newline_in_the_root_s_name_is_no_trouble(box: Box) -> None:
    """Git's answers are asked for one by one then."""
    top = box.init("odd\nname")
    assert find(box, top).root == str(top) and find(box, top).locate("src/a.py", str(top)) == "src/a.py"


def test_where_there_is_no_checkout_the_error_says_what_to_do(box: Box, tmp_path: Path) -> None:
    """Outside a repository, and in a bare one."""
    with pytest.raises(CheckoutError, match="not in a Git repository"):
        find(box, tmp_path)
    box.done("git", "init", "-q", "--bare", str(tmp_path / "bare"))
    with pytest.raises(CheckoutError, match="bare"):
        find(box, tmp_path / "bare")


def test_inherited_git_variables_do_not_mislead(box: Box, top: Path) -> None:
    """A command line started from a hook of another repository looks at its own directory."""
    other = box.init("../other")
    box.env |= {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": "/nonsense"}
    assert find(box, top).root == str(top)


def test_a_git_dir_that_cannot_be_written_is_said_plainly(box: Box, top: Path) -> None:
    """No traceback, and the path is named."""
    (top / ".git/synapse").write_text("in the way")
    with pytest.raises(CheckoutError, match="cannot write"):
        find(box, top).tree(create=True)


def test_a_separate_git_dir_and_a_hook_s_environment_agree(box: Box, tmp_path: Path) -> None:
    """What Git hands to hooks leads to the same id."""
    box.done("git", "init", "-q", "--separate-git-dir", str(tmp_path / "gitdir"), str(tmp_path / "work tree"))
    tree = find(box, tmp_path / "work tree").tree(create=True)
    assert checkout.around_hook(str(tmp_path / "work tree"), box.env).tree() == tree
    assert os.path.exists(tmp_path / "gitdir/synapse/worktree")


def test_another_checkout_of_a_submodules_repository(box: Box, top: Path) -> None:
    """Seen from either, each belongs to its own tree and goes by its own settings."""
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", box.init("../seed"), "lib")
    inner, linked = top / "lib", top.parent / "linked"
    box.done("git", "worktree", "add", "-q", linked, "-b", "side", cwd=inner)
    box.done("git", "config", "synapse.namespace", "outer")
    box.done("git", "config", "synapse.namespace", "inner", cwd=inner)
    for here, other in ((inner, linked), (linked, inner)):
        wanted = find(box, other)
        found = checkout.beside(find(box, here), wanted.git_dir, box.env)
        assert (found.root, found.prefix, found.namespace()) == (wanted.root, wanted.prefix, wanted.namespace())
        assert found.tree(create=True) == wanted.tree()
