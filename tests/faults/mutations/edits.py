"""Breakages of edit time: the watcher, and what is read off an agent's commands. Data."""

# ruff: noqa: E501 - one breakage a line

from __future__ import annotations

from tests.faults.tree import breakage as broken

COMMAND, COPIES, DIFF, SEARCH, SHELL, STARTER, STASH, SWEEP, TARGETS = (
    f"hooks/synapse_hooks/tools/{name}.py"
    for name in ("command", "copies", "diff", "search", "shell", "starter", "stash", "sweep", "targets")
)
ANNOUNCEMENTS, MENTIONS = (f"hub/synapse_hub/{name}.py" for name in ("announcements", "mentions"))
ATTRIBUTION = "hub/synapse_hub/core/attribution.py"
ATTEMPT, ORIGIN, PICTURE, WRITES = (
    f"hub/synapse_watch/{name}.py" for name in ("attempt", "origin", "picture", "writes")
)
QUARANTINE, SPOT, SWITCHES = (f"synapse_git/{name}.py" for name in ("quarantine", "spot", "switches"))

BREAKAGES = (
    broken("an announcement of anything accuses", (ATTRIBUTION, "one.written and one.sha256 == change.sha256 and earliest", "one.written and earliest")),
    broken("an announcement of long ago accuses", (ATTRIBUTION, "and earliest <= one.at <= latest", "and one.at <= latest")),
    broken("one of two writers is accused", (ATTRIBUTION, "min(makers) if len(makers) == 1 else UNKNOWN", "min(makers, default=UNKNOWN)")),
    broken("whoever wrote the same as the holder is accused", (ATTRIBUTION, "if any(agent == holder or", "if any(")),
    broken("what came before the grant is held against somebody", (ATTRIBUTION, "    if change.changed_at < claim.granted_at:\n", "    if not change.path:\n")),
    broken("a holder alone in the worktree is not the one", (ATTRIBUTION, "if set(told.present) == {holder} or ", "if ")),
    broken("whoever is alone is the holder", (ATTRIBUTION, "set(told.present) == {holder}", "len(set(told.present)) == 1")),
    broken("an intent lasts for ever", (ATTRIBUTION, "return change.changed_at - last.at <= patience", "return True")),
    broken("a finished edit excuses the next", (ATTRIBUTION, "EDIT_SLACK_SECONDS if last.written else EDIT_INTENT_SECONDS", "EDIT_INTENT_SECONDS")),
    broken("an automatic claim excuses for ever", (ATTRIBUTION, "claim.key[1].startswith(AUTOMATIC) and change", "claim.key[1].startswith(AUTOMATIC) or change")),
    broken("another's word is not looked into", (ATTRIBUTION, "if unseen and any(one.agent != claim.owner for one in told.announced):", "if not claim:")),
    broken("Git's work is anybody's who ran it once", (ATTRIBUTION, "if abs(at - when) <= EDIT_SLACK_SECONDS", "if when")),
    broken("running Git accuses of whatever was written", (ATTRIBUTION, "    if change.git:", "    if change.path:")),
    broken("an agent is accused as generously as it is excused", (ATTRIBUTION, "if abs(at - when) <= _CLOSE_S", "if abs(at - when) <= EDIT_SLACK_SECONDS")),
    broken("a subagent is a stranger to its session", (ATTRIBUTION, "or acts_for(agent, holder) or acts_for(holder, agent) for", "for")),
    broken("what a holder wrote before is strange when it comes back", (ATTRIBUTION, " or _written_before(holder, change, told.announced):", ":")),
    broken("an expected edit excuses before all have spoken", (ATTRIBUTION, "    if told.complete and _expected(", "    if _expected(")),
    broken("what is excused counts as known", (ATTRIBUTION, "msgspec.structs.replace(told, complete=False)", "told")),
    broken("a stash that comes back is nobody's doing", (ORIGIN, "MOVED if truth.interrupted() else GIVEN", "MOVED")),
    broken("whoever resolves a conflict is taken for Git", (ORIGIN, "left = [path for path in left if path not in same]", "found |= dict.fromkeys(left, meaning)")),
    broken("what somebody changed since is taken for moved", (ORIGIN, " - self._truth.dirty().keys()", "")),
    broken("a stash that was dropped is forgotten", (ORIGIN, "> _MOST_STASHES", "> 0")),
    broken("what was judged first hides what came after", (ANNOUNCEMENTS, "max(one.at, self._order[-1][0]) if self._order else one.at", "one.at")),
    broken("announcements are never forgotten", (ANNOUNCEMENTS, "if one.at > now - EDIT_MEMORY_SECONDS]", "if one.at]")),
    broken("announcements have no bound", (ANNOUNCEMENTS, "len(self._order) > MAX_REMEMBERED_EDITS", "not self._order")),
    broken("presence lasts for ever", (ANNOUNCEMENTS, "where == tree and at > now - PRESENCE_SECONDS}", "where == tree and at}")),
    broken("no copy is kept of what is replaced", (QUARANTINE, "        _write(f\"{draft}/{_FOUND}\", found, 0o600)\n", "        pass\n")),
    broken("what came last is not looked at", (QUARANTINE, "    if _read(swap) != found:\n", "    if not swap:\n")),
    broken("what is not expected is replaced", (QUARANTINE, "found is not None and _digest(found) != expected)", "found is not None and not expected)")),
    broken("a second name loses its file", (QUARANTINE, " or found.st_nlink > 1:", ":")),
    broken("links are followed", (QUARANTINE, "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK", "os.O_RDONLY | os.O_NONBLOCK")),
    broken("a reset throws nothing away", (SWEEP, 'whole, given = "--hard" in options, []', "whole, given = False, []")),
    broken("a clean that only tells is taken for one", (SWEEP, ' and "n" not in letters', "")),
    broken("a setting of the user's goes before the project's", (SWITCHES, "[*([administrators] if administrators else []), *map(os.path.normpath, found)]", "[*map(os.path.normpath, reversed(found))]")),
    broken("a setting that was overruled silences", (SWITCHES, "if found is silencing and not settled:", "if found is silencing:")),
    broken("a linked directory leads out of the tree", (SPOT, "_DIRECTORY | os.O_NOFOLLOW", "_DIRECTORY")),
    broken("what was not replaced is reported as replaced", (QUARANTINE, 'return _digest(file.read()) != str(self.about["put"])', "return True")),
    broken("two writes are one", (WRITES, "now == (since[0] + 1, since[1])", "now[1] == since[1]")),
    broken("what was not counted all along is counted", (WRITES, "if now[1] <= last else UNKNOWN", "if now else UNKNOWN")),
    broken("a directory that comes back was there all along", (WRITES, "self._last += 1", "self._last = 1")),
    broken("two writes alike are one to the kernel", (WRITES, "_WATCHED = _COUNTED | _MODIFY | _CREATE", "_WATCHED = _COUNTED")),
    broken("a submodule is judged in the midst of it", (ORIGIN, "if truth.busy() or truth.moment() != moment:", "if truth.moment() != moment:")),
    broken("what was deeper down is forgotten", (PICTURE, "    while path := os.path.dirname(path):\n", "    if path := os.path.dirname(path):\n")),
    broken("a closed descriptor is a file", (SHELL, 'if redirection in (">&", "<&") and (', 'if redirection == "<&" and (')),
    broken("what was noted is news", (PICTURE, "if mark == self._marks.get(path):", "if not path:")),
    broken("what nobody touched is news", (PICTURE, "if mark and changed_at < self.at - _COARSE_S:", "if not path:")),
    broken("a tilde is home whoever is asked to act", (COMMAND, 'return "HOME" in text or', 'return "HOME" in text and')),
    broken("a tilde is home before any name", (SHELL, '(text[at + 1 : at + 2] or "/") in f"/{_BLANK}{_SPECIAL}"', "text[at + 1 :]")),
    broken("copies go nowhere", (COPIES, "if len(aims) > 1 or not aims[0].text:", "if aims:")),
    broken("copies go to the last of two places", (COPIES, "if len(aims) > 1 or not", "if not")),
    broken("copies that go nowhere go to the root", (COPIES, "if len(aims) > 1 or not aims[0].text:", "if len(aims) > 1:")),
    broken("a subshell's directory outlives it", (COMMAND, "if inner.here == place.here else None", "if inner.here else None")),
    broken("what comes after exit is read", (COMMAND, "            place.over = always\n", "            place.over = False\n")),
    broken("a cd to nowhere leads somewhere", (COMMAND, ' or not os.path.isdir(place.here or "/")', "")),
    broken("a group's redirections lie where it went", (COMMAND, "                self._redirected(command, place)\n                if", "                self._redirected(command, inner)\n                if")),
    broken("arithmetic is a subshell", (SHELL, '            or text == "(("\n', "")),
    broken("a half-read command counts", (SHELL, "        current.words = []\n", "        pass\n")),
    broken("a document that is expanded is read as it stands", (SHELL, "if delimiter.quoted or not set(\"$`\\\\\") & set(body):", "if body:")),
    broken("anybody's rm is the system's", (TARGETS, "if folder in _PROGRAMS and", "if folder or")),
    broken("an option of perl's is a loop", (TARGETS, "or (looping and not seen & set(looping))", "")),
    broken("lines of a hunk are names", (DIFF, "            _skip(lines, line)\n", "            pass\n")),
    broken("a patch that does not fit is applied", (DIFF, "if all(found) else []", "if found else []")),
    broken("a search that asks for more is read", (SEARCH, "if not known or not value.certain", "if not value.certain")),
    broken("a stash brings nothing", (STASH, 'comes=verb != "drop"', "comes=False")),
    broken("files that Git did not know stay in a stash", (STASH, ' + self._ask((*_TREE, f"{name}^3"), env)', "")),
    broken("a stash of another worktree is anybody's", (STASH, "*filter(None, [roots.get(_branch(said[number]))])", "*here")),
    broken("a stash that is only applied is taken away", (STASH, 'goes=verb != "apply"', "goes=True")),
    broken("messages are mentioned with every edit", (MENTIONS, "return seq > before", "return True")),
    broken("what was mentioned is never forgotten", (MENTIONS, "len(self._told) > _MOST", "not self._told")),
    broken("Git's other checkout is this one", (COMMAND, "here is None or self._another_checkout or", "here is None or")),
    broken("env changes no directory", (STARTER, '"env": ("i0v", "u", 0)', '"env": ("i0v", "uC", 0)')),
    broken("no hook ever puts anything aside", (ATTEMPT, 'any(hook in _read(name, b"cmdline") for hook in _HOOKS)', "not _HOOKS")),
    broken("whatever a commit waits for puts things aside", (ATTEMPT, ' and any(hook in _read(name, b"cmdline") for hook in _HOOKS)', "")),
    broken("a hook of any program puts things aside", (ATTEMPT, "_is_git(parent) and ", "")),
    broken("a hook of any checkout puts things aside", (ATTEMPT, " and _is_within(_cwd(parent), real)", "")),
    broken("a checkout is what begins with its name", (ATTEMPT, 'path.startswith(root + b"/")', "path.startswith(root)")),
)  # fmt: skip
