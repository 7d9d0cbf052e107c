"""Breakages of what the hooks judge: each opens a way round the guard. Data."""

# ruff: noqa: E501 - one breakage a line

from __future__ import annotations

from tests.faults.tree import breakage as broken

_HOOKS = "hooks/synapse_hooks/"
CHANGES, COMMITS, UPDATES = (f"{_HOOKS}{name}.py" for name in ("changes", "commits", "updates"))
CHECKOUT = "synapse_git/checkout.py"
GATE, JUDGED, RUN, VERDICT = (f"{_HOOKS}{name}.py" for name in ("gate", "judged", "run", "verdict"))
OPERATION, PROCESS = (f"{_HOOKS}{name}.py" for name in ("operation", "process"))
OUTPUT = "synapse_git/cli/output.py"
OMISSION, REFUSAL, WAIVER = (f"{_HOOKS}{name}.py" for name in ("omission", "refusal", "waiver"))

BREAKAGES = (
    broken("a hub that is silent is told of the override as well", (GATE, "away=isinstance(refused, HubUnreachable)", "away=False")),
    broken("a merge hides what its parents bring", (COMMITS, '_IN_TREE, _IN_SHARED = "-m", "-c"', '_IN_TREE, _IN_SHARED = "-c", "-c"')),
    broken("a merge is everybody's edit in a shared tree", (COMMITS, '_IN_TREE, _IN_SHARED = "-m", "-c"', '_IN_TREE, _IN_SHARED = "-m", "-m"')),
    broken("what an update drops is not changed", (COMMITS, "differing & (in_tree | dropped)", "differing & in_tree")),
    broken("what a reflog knows is new", (COMMITS, '"--all", "--reflog",', '"--all",')),
    broken("what a branch knows is new", (COMMITS, '"--all", "--reflog",', '"--reflog",')),
    broken("what was fetched from here was made elsewhere", (COMMITS, "if len(fields) == 3 and not _from_here(fields[2], here)]", "if len(fields) == 3]")),
    broken("a submodule is a tree of its own", (CHECKOUT, "checkout.inside(find(superproject, env))", "pass")),
    broken("a worktree of a submodule goes by its superproject's settings", (CHECKOUT, "if here.outer is not here:  # those", "if here.outer is None:  # those")),
    broken("objects are what they stand for", (RUN, 'self.asking["GIT_NO_REPLACE_OBJECTS"] = "1"', "pass")),
    broken("only the checkout at hand is judged", (UPDATES, "in gitdir.every(here.common_dir):", "in gitdir.every(here.common_dir)[:1]:")),
    broken("a branch by another name is another one", (UPDATES, "yield git_dir, _followed(here, branch)", "yield git_dir, branch")),
    broken("a HEAD that is a link is nobody's", (UPDATES, '(target := os.readlink(path)).startswith("refs/"):', 'not (target := os.readlink(path)):')),
    broken("another checkout's HEAD is nobody's", (UPDATES, 'if last != "HEAD" or (owner', 'if last or (owner')),
    broken("a branch in a table is nobody's", (UPDATES, "if branch in (ref, _STUB):", "if branch == ref:")),
    broken("HEAD by itself concerns nobody", (UPDATES, 'if ref == "HEAD":', 'if ref == "HEAD" and not new:')),
    broken("settings hide submodules", (CHANGES, '    "--ignore-submodules=none",\n', "")),
    broken("what is meant to be added is committed", (CHANGES, '    "--ita-invisible-in-index",\n', "")),
    broken("a shared tree is changed by what one parent lacks", (CHANGES, "if all(path in paths for paths in others)]", "if any(path in paths for paths in others)]")),
    broken("a merge changes no shared tree", (VERDICT, ', (self.namespace, "", self.shared, "allow")]', "]")),
    broken("a linked index holds its content", (JUDGED, "if os.path.islink(self._index):", "if not self._index:")),
    broken("a hub that was named is watched", (JUDGED, "if address.configured(hub):", "if not hub:")),
    broken("each hook of an operation overrides anew", (GATE, "if waiver:\n            waiver.extend(change.paths)", "if not waiver:\n            pass")),
    broken("an operation is let through with whatever it brings", (WAIVER, "return bool(known) and known.issuperset(", "return bool(known) or known.issuperset(")),
    broken("what one operation was let through with, the next is", (WAIVER, "if self._operation and operation == self._operation", "if self._operation and operation")),
    broken("a directory is left out for a file in it", (OMISSION, "if above in self._paths:", "if above in self._paths or above:")),
    broken("what a shared tree holds is free to commit", (OMISSION, "depth = max(own.depth(path), shared.depth(path))", "depth = own.depth(path)")),
    broken("a step that joins another makes a commit", (OPERATION, 'elif mark == "rebase-merge" and _joins(git_dir):', "elif not mark:")),
    broken("a step before this one tells how to go on", (OPERATION, "for step in reversed(steps) if", "for step in steps if")),
    broken("a step is told by its beginning", (OPERATION, 'in _JOINING\n', 'in ("squash", "fixup")\n')),
    broken("whatever Git has started serves it", (PROCESS, " and subcommand(line) == command", "")),
    broken("what serves a command is not known", (PROCESS, "parent = _status(pid, 1)", "parent = _status(pid, 2)")),
    broken("an answer that is lost was given", (OUTPUT, "    if stream is sys.stdout:\n", "    if stream is None:\n")),
    broken("a message that is lost was the answer", (OUTPUT, "    if stream is sys.stdout:\n", "    if stream:\n")),
    broken("a closed stream takes the answer", (OUTPUT, "    if sys.stdout is None:\n", "    if sys.stdout is sys.stderr:\n")),
    broken("a closed stream has nothing to say", (OUTPUT, "os.open(os.devnull, os.O_RDONLY)", "os.open(os.devnull, os.O_WRONLY)")),
    broken("a hook runs at the top of its checkout", (CHECKOUT, "return os.path.samefile(gitdir.at(cwd), git_dir)", "return True")),
    broken("an agent is told how to override", (REFUSAL, "if identity.by_agent(env):", "if not identity:")),
    broken("an override that did not count is advised once more", (REFUSAL, "if overriding(env):", "if not overriding:")),
    broken("an agent is told to take a claim away", ("synapse_git/explain.py", "[] if identity.by_agent(env) else list(", "list(")),
)  # fmt: skip
