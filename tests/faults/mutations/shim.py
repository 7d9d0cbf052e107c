"""Breakages of the shell part of the hooks: each judges too little, too often, or loses somebody's hook. Data."""

# ruff: noqa: E501 - one breakage a line

from __future__ import annotations

from tests.faults.tree import Breakage, breakage

SHIM = "hooks/synapse_hooks/setup/shim.sh"
_HOOKS = ("pre-commit", "prepare-commit-msg", "pre-merge-commit", "pre-applypatch")
_JUDGING = f"{' | '.join(_HOOKS)}) moment=index"


def broken(name: str, *edits: tuple[str, str]) -> Breakage:
    """One of the shim."""
    return breakage(name, *((SHIM, old, new) for old, new in edits))


BREAKAGES = (
    # early exits
    broken("after every commit somebody looks for claims", ('post-commit:) [ -n "$here$kept" ] || [ -e "$record/settle" ] || exit 0 ;;\n', ""), ('\t[ -e "$record/settle" ] && works || return\n', "\tworks || return\n")),
    broken("references are judged in every state", ('reference-transaction:*) [ -n "$here$kept" ] || exit 0 ;;\n', ""), ('[ "$1" != prepared ] || moment=references', "moment=references")),
    broken("a hook of others' hears of one state only", ('reference-transaction:*) [ -n "$here$kept" ] || exit 0 ;;', "reference-transaction:*) exit 0 ;;")),
    broken("what is settled keeps others' hooks from running", ('[ -n "$here$kept" ] || ! settled || exit 0 ;;', "! settled || exit 0 ;;")),
    # the record of what was judged
    broken("a verdict is anybody's", ('[ "$pid" = "$PPID" ] && IFS= read -r start', "IFS= read -r start")),
    broken("a pid is a process", ('[ "$start" = "$since" ] && in_time', "in_time")),
    broken("another hub's word has no end", ('[ "${up%.*}" -lt "$ends" ]', '[ "$up" ]')),
    broken("the word of a hub that was named is kept", ('[ -z "${SYNAPSE_HUB-}" ] && [ -f "$record/judged" ] || return 1', '[ -f "$record/judged" ] || return 1')),
    broken("any index is the one that was judged", ('[ "${GIT_INDEX_FILE:-$index}" -ef "$record/judged-index" ] && same_age', "same_age")),
    broken("an index that was rewritten is the same", ("same_age && unchanged &&", "unchanged &&")),
    broken("an index of an older time is the same", (' && ! [ "$record/judged" -nt "$record/judged-index" ]', "")),
    broken("an index of a newer time is the same", ('! [ "$record/judged-index" -nt "$record/judged" ] && ', "")),
    broken("a hook of others' stages nothing", ("same_age && unchanged &&", "same_age &&")),
    broken("what a hook was given is not noted", ('[ -z "$next" ] || [ "$name" != pre-commit ] || note_content', '[ "$next" ] || [ "$name" != pre-commit ] || note_content')),
    broken("another process was given this index", ('[ "$pid $start" != "$PPID $since" ] || { [ -n "$given" ]', '{ [ -n "$given" ]')),
    broken("an index that cannot be read is unchanged", ('{ [ -n "$given" ] && [ "$given" = "$(content "$index")" ]; }', '[ "$given" = "$(content "$index")" ]')),
    broken("complaints about an index that is not there", ('{ cksum <"${GIT_INDEX_FILE:-$1}"; } 2>/dev/null', 'cksum <"${GIT_INDEX_FILE:-$1}" 2>/dev/null')),
    broken("a grant in the shared tree changes nothing", (' &&\n\t\t[ "$shared" -ef "$shared$shared_pin" ] || return 1', " || return 1")),
    broken("a grant in the tree changes nothing", ('[ "$tree" -ef "$tree$tree_pin" ]; else', ":; else")),
    broken("a first claim changes nothing", ('else [ ! -e "$record/worktree" ]; fi', "fi")),
    broken("nothing is ever settled", ("settled() {\n", "settled() {\n\treturn 1\n")),
    broken("everything is settled", ("settled() {\n", "settled() {\n\treturn 0\n")),
    # the program
    broken("an interpreter that is gone lets all pass", ('\tbroken "$python or $launch is gone, or not yours to use"\n', "")),
    broken("a file to launch that is gone is started", ('usable() {\n\t[ -x "$python" ] && [ -r "$launch" ]', 'usable() {\n\t[ -x "$python" ]')),
    broken("after the fact a program that is gone is started", ('works() {\n\t[ -x "$python" ] && [ -r "$launch" ]', "works() {\n\t:")),
    broken("a check that failed is a verdict", ('[ $status -eq 0 ] || broken "the check ended with status $status"', ":")),
    broken("a refusal is a failure of the check", ("[ $status -ne 10 ] || refuse", ":")),
    broken("a refusal lets pass", ('>"$record/refused"; } 2>/dev/null ;;\n\tesac\n\texit 1', '>"$record/refused"; } 2>/dev/null ;;\n\tesac\n\texit 0')),
    broken("an agent is told ways round", ('\t\techo "Or ask the person you work for."\n\t\treturn\n', '\t\techo "Or ask the person you work for."\n')),
    broken("a blank override counts", ("*[![:space:]]*)", "?*)")),
    broken("an override that is written nowhere counts", ("if write_down; then", "if write_down || :; then")),
    broken("what several hooks have to say is said by each", ('[ "$pid $start $about" = "$PPID $since ${1-}" ] && return', "false")),
    broken("an orderly end is a loss", ("\tuninstalled && return 1\n", "")),
    broken("a loss is an orderly end", ('[ -f "${python%/bin/*}.uninstalled" ] || [ -f "${python%/*/bin/*}.uninstalled" ] || return 1', ":")),
    broken("an end is noted in one place only", (' || [ -f "${python%/*/bin/*}.uninstalled" ]', "")),
    # what counts
    broken("a reference that stays where it is moves", ('*[!0]*) [ "${values% *}" != "${values#* }" ] ;;', "*[!0]*) ;;")),
    broken("another branch is another commit", ("*' ref:'*) return 1 ;; # another branch, and no other commit\n", "")),
    broken("tags are branches", ("*' refs/heads/'*) stood_on", "*' refs/'*) stood_on")),
    broken("branches are nobody's", ("\t*' refs/heads/'*) stood_on \"${1##* }\" || return ;;\n", "")),
    broken("a checkout has one name", ("*' HEAD' | *' worktrees/'*/HEAD | *' main-worktree/HEAD')", "*' HEAD')")),
    broken("a reference that goes away moves a checkout", ('[ "${values% *}" != "${values#* }" ] ;; *) return 1 ;; esac', '[ "${values% *}" != "${values#* }" ] ;; esac')),
    broken("every branch is stood on", ("stood_on() {\n", "stood_on() {\n\treturn 0\n")),
    broken("no branch is stood on", ("stood_on() {\n", "stood_on() {\n\treturn 1\n")),
    broken("a linked checkout's HEAD is the only one", ('case $main in /*) common=$main ;; *) common=$common/$main ;; esac', ":")),
    broken("the first checkout's HEAD is the only one", ('for head in "$common/HEAD" "$common"/worktrees/*/HEAD; do', 'for head in "$common/HEAD"; do')),
    broken("a HEAD that is a link leads nowhere", ('\t\t[ ! -h "$head" ] || return 0\n', "")),
    broken("a HEAD that breaks off leads nowhere", ('read -r at <"$head" || return 0', 'read -r at <"$head" || continue')),
    broken("a HEAD in odd spelling leads nowhere", ("at=${at#ref: } ;; ref:*) return 0 ;;", "at=${at#ref: } ;; ref:*) continue ;;")),
    broken("a stub is a branch", ('"$1" | refs/heads/.invalid) return 0', '"$1") return 0')),
    broken("a branch has one name", ('\t\tcase $at in ref:*) return 0 ;; esac\n', "")),
    broken("a branch that is a link is itself", ('\t\t[ ! -h "$common/$at" ] || return 0\n', "")),
    broken("a push to any branch is judged", ('! stood_on "$1" || moment=update', "moment=update")),
    broken("the first line tells", ("\t\tline=\n\tdone", "\t\tbreak\n\tdone")),
    broken("a shell reads as many lines as there are", (" || [ $count -ge 500 ]", "")),
    broken("files that come back have a witness everywhere", ('[ -e "$record/worktree" ] && works || return', "works || return")),
    broken("a checkout of files is one of a commit", ('[ "$3" = 1 ] && [ "$1" != "$2" ] || return', '[ "$1" != "$2" ] || return')),
    broken("going nowhere is a move", ('[ "$3" = 1 ] && [ "$1" != "$2" ] || return', '[ "$3" = 1 ] || return')),
    broken("a checkout out of nothing is a move", ("\tcase $1 in *[!0]*) ;; *) return 1 ;; esac\n", "")),
    broken("a squash moves files", ('post-merge) [ "$1" = 1 ] || moment=moved', "post-merge) moment=moved")),
    broken("an amended commit is a rebase", ('post-rewrite) [ "$1" != rebase ] || moment=rewritten', "post-rewrite) moment=rewritten")),
    broken("a push of tags is judged", ("update) case $1 in refs/heads/*)", "update) case $1 in refs/*)")),
    broken("a push is told in Git's order", ("update) judge \"$2 $3 $1\" ''", "update) judge \"$1 $2 $3\" ''")),
    broken("what is moved after the fact is not told", ("moved) note \"$@\" ;;", "moved) ;;")),
    *(broken(f"{hook} judges nothing", (_JUDGING, _JUDGING.replace(hook, f"not-{hook}"))) for hook in _HOOKS),
    # whoever was there before
    broken("the hook before is forgotten", ('[ -z "$next" ] || exec "$next" "$@"', "")),
    broken("the hook before hears nothing", ('[ -z "$next" ] || exec "$next" "$@"', '[ -z "$next" ] || exec "$next"')),
    broken("the hook before has no say", ('[ -z "$next" ] || exec "$next" "$@"', '[ -z "$next" ] || { "$next" "$@" || :; exit 0; }')),
    broken("the hook before runs first", ('\tsettled || { ! refused || exit 1; judge "$@"; }', '\t[ -z "$next" ] || "$next" "$@"\n\tsettled || { ! refused || exit 1; judge "$@"; }')),
    broken("a hook that Git would not run is run", ('|| [ ! -x "$next" ] ||', "||")),
    broken("a directory is a hook", ('[ ! -f "$next" ] || [ ! -x', "[ ! -x")),
    broken("ours runs itself", (' || own "$next" ||', " ||")),
    broken("ours with another's behind it is passed over", ("[ \"$first\" = '# synapse-git hook 1' ]", '[ "${first#*synapse-git hook}" != "$first" ]')),
    broken("ours that was moved aside judges again", ("*.old | *.legacy) aside=1 moment='' ;;", "*.old | *.legacy) aside=1 ;;")),
    broken("ours that was moved aside runs who runs it", (' || { [ -n "$aside" ] && of_pre_commit "$next"; }', "")),
    broken("pre-commit's own hook never runs", ('{ [ -n "$aside" ] && of_pre_commit "$next"; }', 'of_pre_commit "$next"')),
    broken("whoever was moved aside runs nobody", ('{ [ -n "$aside" ] && of_pre_commit "$next"; }', '[ -n "$aside" ]')),
    broken("whoever is behind a push gets no lines", ('judge_lines() {\n\tif [ -n "$next" ]; then', "judge_lines() {\n\tif false; then")),
    broken("whoever is behind an update of references gets no lines", ('if [ -n "$next" ]; then hand_on "$@"; elif', "if")),
    broken("what is of no concern is lost", ('[ -z "$next" ] || lines="$lines$line$newline"', ":")),
    broken("what was not read yet is lost", ("rest=$(cat)", "rest=")),
    broken("an empty line is added", ('${lines%"$newline"}', "$lines")),
    broken("whoever is behind a rebase gets no lines", ('[ -z "$next" ] || exec "$python" -I -S "$launch" "$name" "$PPID" "$here" "$next" "$@"\n\tnote', "note")),
    # core.hooksPath, and Git's configuration
    broken("the first directory that was displaced counts", ('displaced=${line#*"$tab"} found=1; }', '[ "$found" ] || displaced=${line#*"$tab"} found=1; }')),
    broken("ours is a directory that was displaced", ('[ "${line#*"$tab"}" = "$here" ] || {', "{")),
    broken("names of directories end at a blank", ("\tIFS=$newline\n", "")),
    broken("without a name nothing was displaced", ('[ -n "$found" ] || displaced=$(git rev-parse --git-common-dir)/hooks', ":")),
    broken("every hook asks what was displaced", ('[ ! -d "$record" ] || printf \'%s\\n\' "$PPID" "$since" "$displaced" 2>/dev/null >"$record/displaced"', ":")),
    broken("what was displaced once is for ever", ('IFS= read -r displaced; } <"$record/displaced" &&\n\t\t\t[ -n "$since" ] && [ "$pid $start" = "$PPID $since" ] && return', 'IFS= read -r displaced; } <"$record/displaced" && return')),
    broken("a push into a checkout brings no files", (' || deploy "$@"', "")),
    broken("a push into a checkout throws work away", ("git diff-files --quiet --ignore-submodules -- &&\n", ":\n")),
    broken("a push into a checkout throws what is staged away", ("\t\tgit diff-index --quiet --cached --ignore-submodules HEAD -- && exec", "\t\texec")),
    broken("what both would refuse is refused twice", ("! refused || exit 1; judge", "judge")),
    broken("what was refused once is for ever", (' && rm -f "$record/refused"', "")),
    broken("a refusal is for whoever comes next", ('[ -f "$record/refused" ] && { IFS= read -r pid && IFS= read -r start; } <"$record/refused" && age &&\n\t\t[ "$pid $start" = "$PPID $since" ] &&', '[ -f "$record/refused" ] &&')),
    broken("every hook's refusal silences the next", ('*/configured/"$name")', "*)")),
)  # fmt: skip
