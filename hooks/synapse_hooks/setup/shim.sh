#!/bin/sh
# synapse-git hook 1
# Asks whether others have claimed what is about to change, then runs the hook that was here before.
# Written by `synapse-git install`, removed by `synapse-git uninstall`.

name=''    # of this hook
kept=''    # the file beside this one that was the hook before
here=''    # this directory, if core.hooksPath leads here; the directory it displaced is then looked up
python=''
launch=''
record=${GIT_DIR:-.git}/synapse
newline='
'

# Of an update of references only one of several moments matters; after most commits nothing is to be done.
case $name:$1 in
post-commit:) [ -n "$here$kept" ] || [ -e "$record/settle" ] || exit 0 ;;
reference-transaction:prepared) ;;
reference-transaction:*) [ -n "$here$kept" ] || exit 0 ;;
esac

# Which process is $PPID? A pid is used again, a pid and its start are not.
age() {
	since=
	if [ -r "/proc/$PPID/stat" ]; then
		read -r since <"/proc/$PPID/stat"
		# shellcheck disable=SC2086 # it is to be split
		twentieth ${since##*) }
	else
		since=$(LC_ALL=C ps -o lstart= -p "$PPID")
	fi
}

twentieth() {
	shift 19
	since=$1
}

# Read what a hook left that the same Git process started before.
recall() {
	[ -z "${SYNAPSE_HUB-}" ] && [ -f "$record/judged" ] || return 1
	{
		read -r pid ends && [ "$pid" = "$PPID" ] && IFS= read -r start && IFS= read -r index &&
			IFS= read -r tree && IFS= read -r tree_pin &&
			IFS= read -r shared && IFS= read -r shared_pin
	} <"$record/judged" && age && [ "$start" = "$since" ] && in_time
}

# Where another hub grants, its word has an end, in seconds since the machine started.
in_time() {
	[ -z "$ends" ] || { read -r up _ </proc/uptime && [ "${up%.*}" -lt "$ends" ]; } 2>/dev/null
}

# The record has the time of the index that was judged, which a hook may rewrite in its place.
same_age() {
	! [ "$record/judged-index" -nt "$record/judged" ] && ! [ "$record/judged" -nt "$record/judged-index" ]
}

# The hook that was here before is run by this one and may stage something. Neither place nor time of the index tells,
# since it may write into the file and put the time back, so what it was given is noted.
note_content() {
	age
	[ ! -d "$record" ] || printf '%s\n' "$PPID" "$since" "$(content "$1")" 2>/dev/null >"$record/given"
}

unchanged() {
	[ -f "$record/given" ] || return 0
	{ IFS= read -r pid && IFS= read -r start && IFS= read -r given; } <"$record/given"
	[ "$pid $start" != "$PPID $since" ] || { [ -n "$given" ] && [ "$given" = "$(content "$index")" ]; }
}

content() {
	{ cksum <"${GIT_INDEX_FILE:-$1}"; } 2>/dev/null
}

# That hook passed. Is it still the same index, and was nothing granted since?
settled() {
	recall && [ "${GIT_INDEX_FILE:-$index}" -ef "$record/judged-index" ] && same_age && unchanged &&
		[ "$shared" -ef "$shared$shared_pin" ] || return 1
	if [ -n "$tree" ]; then [ "$tree" -ef "$tree$tree_pin" ]; else [ ! -e "$record/worktree" ]; fi
}

# Most often that settles it. A shell reads as it runs, so what is below costs these hooks nothing.
case $name:$1 in
prepare-commit-msg:* | reference-transaction:*) [ -n "$here$kept" ] || ! settled || exit 0 ;;
esac

broken() {
	case ${SYNAPSE_OVERRIDE-} in
	*[![:space:]]*)
		# Nobody is there to put it on record, so it is written down beside what else is kept of this checkout.
		head=$(git rev-parse -q --verify HEAD 2>/dev/null)
		told "$head" && return 0
		if write_down; then
			{
				echo "synapse-git: the guard of this repository cannot run: $1."
				echo "Nothing was checked. It is let through by SYNAPSE_OVERRIDE, and written down in $record/unchecked:"
				echo "once the program is there again, this puts it on record: synapse-git install"
			} >&2
			return 0
		fi
		rm -f "$record/told"
		echo "synapse-git: the override cannot be written down in $record/unchecked, so it does not count." >&2
		;;
	esac
	{
		echo "synapse-git: the guard of this repository cannot run: $1."
		echo "Nothing was checked, so this is refused. Repair it: install synapse-git again, then: synapse-git install"
		ways_round
	} >&2
	exit 1
}

# Those are for people: an agent is not to try them, and a reason that did not count a moment ago is not asked for again.
ways_round() {
	if [ -n "${CLAUDECODE-}${CODEX_SANDBOX-}${CURSOR_AGENT-}${GEMINI_CLI-}${OPENCODE-}${CLAUDE_CODE_SESSION_ID-}" ] ||
		[ -n "${CODEX_SESSION_ID-}${CODEX_THREAD_ID-}${GEMINI_SESSION_ID-}${OPENCODE_SESSION_ID-}" ]; then
		echo "Or ask the person you work for."
		return
	fi
	[ -n "${SYNAPSE_OVERRIDE-}" ] || echo "Or let it through, written down: SYNAPSE_OVERRIDE=\"why\" git …"
	echo "Or take the guard out: delete the files in the hooks directory whose second line is '# synapse-git hook …', and"
	echo "move those in hooks.kept-by-synapse-git back there."
}

# A line of fields with tabs between them: when, which hook, on what branch, after which commit, for whom, why, and what
# changes, as Git quotes it.
write_down() {
	changed=''
	[ "$moment" != index ] || changed=$(GIT_OPTIONAL_LOCKS=0 git -c core.quotePath=true diff --cached --name-only \
		--no-renames --no-relative --ignore-submodules=none 2>/dev/null | head -n 100)
	joined ' 	
' ' ' "$(printf '%.1000s' "$SYNAPSE_OVERRIDE")" && reason=$joined
	joined '
' '	' "$changed"
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" "$(git symbolic-ref -q HEAD)" \
		"$head" "${SYNAPSE_AGENT-}" "$reason" "$joined" >>"$record/unchecked"
}

# The parts of $3 that are separated by $1, with $2 between them.
joined() {
	set -f
	IFS=$1
	# shellcheck disable=SC2086 # it is to be split
	set -- "$2" $3
	IFS=$1
	shift
	joined=$*
	unset IFS
	set +f
}

# One Git process starts several hooks; what all of them have to say, of one commit if $1 is the one before, is said once.
told() {
	age
	if [ -f "$record/told" ]; then
		{ IFS= read -r pid && IFS= read -r start && IFS= read -r about; } <"$record/told" &&
			[ -n "$since" ] && [ "$pid $start $about" = "$PPID $since ${1-}" ] && return
	fi
	[ ! -d "$record" ] || printf '%s\n' "$PPID" "$since" "${1-}" 2>/dev/null >"$record/told"
	return 1
}

# Was the program taken away by `./install.sh --uninstall`, and not lost? Then nobody means to refuse anything.
uninstalled() {
	[ -f "${python%/bin/*}.uninstalled" ] || [ -f "${python%/*/bin/*}.uninstalled" ] || return 1
	told || {
		echo "synapse-git: it was uninstalled, so nothing is checked here. What is left of the guard of this repository:"
		echo "the files in the hooks directory whose second line is '# synapse-git hook …'. Delete them, and move those in"
		echo "hooks.kept-by-synapse-git back there."
	} >&2
}

# Where the hook in Git's configuration has refused, Git runs the one in the directory all the same: that adds nothing.
refused() {
	[ -f "$record/refused" ] && { IFS= read -r pid && IFS= read -r start; } <"$record/refused" && age &&
		[ "$pid $start" = "$PPID $since" ] && rm -f "$record/refused"
}

refuse() {
	case $0 in
	*/configured/"$name") [ ! -d "$record" ] || { age && printf '%s\n' "$PPID" "$since" >"$record/refused"; } 2>/dev/null ;;
	esac
	exit 1
}

usable() {
	[ -x "$python" ] && [ -r "$launch" ] && return 0
	uninstalled && return 1
	broken "$python or $launch is gone, or not yours to use"
	return 1 # let through
}

judge() {
	usable || return 0
	"$python" -I -S "$launch" "$name" "$PPID" "$here" "$@"
	status=$?
	[ $status -ne 10 ] || refuse
	[ $status -eq 0 ] || broken "the check ended with status $status"
}

# Most updates of references concern no checkout: those pass without starting Python, which reads many lines faster.
judge_references() {
	lines='' count=0 wrote=''
	while IFS= read -r line; do
		count=$((count + 1))
		if moves_checkout "$line" || [ $count -ge 500 ]; then break; fi
		[ -z "$next" ] || lines="$lines$line$newline"
		line=
	done
	[ -n "$line" ] || [ -z "$wrote" ] || wrote
	if [ -n "$next" ]; then hand_on "$@"; elif [ -n "$line" ]; then judge "$line" ''; fi
}

# The hook that runs next gets all the lines. An argument would have no room for them.
hand_on() {
	lines=$lines$line
	if [ -n "$line" ]; then
		rest=$(cat)
		lines=$lines${rest:+$newline}$rest
		! usable || exec "$python" -I -S "$launch" "$name" "$PPID" "$here" '' "$next" "$@" <<-EOF
			$lines
		EOF
	fi
	exec "$next" "$@" <<-EOF
		${lines%"$newline"}
	EOF
}

# Does a line of OLD NEW REF give some checkout another commit?
moves_checkout() {
	values=${1% *}
	case $1 in
	*' ref:'*) return 1 ;; # another branch, and no other commit
	*' refs/stash' | *' ORIG_HEAD') wrote=1 && return 1 ;;
	*' HEAD' | *' worktrees/'*/HEAD | *' main-worktree/HEAD') ;;
	*' refs/heads/'*) stood_on "${1##* }" || return ;;
	*) return 1 ;;
	esac
	case ${values#* } in *[!0]*) [ "${values% *}" != "${values#* }" ] ;; *) return 1 ;; esac
}

# Does a checkout of this repository stand on branch $1? What is not plain from the files is the check's to tell.
stood_on() {
	common=${GIT_COMMON_DIR:-${GIT_DIR:-.git}}
	if [ -z "${GIT_COMMON_DIR-}" ] && [ -f "$common/commondir" ]; then
		IFS= read -r main <"$common/commondir"
		case $main in /*) common=$main ;; *) common=$common/$main ;; esac
	fi
	[ -f "$common/HEAD" ] || return 0
	for head in "$common/HEAD" "$common"/worktrees/*/HEAD; do
		[ ! -h "$head" ] || return 0
		[ -f "$head" ] || continue
		read -r at <"$head" || return 0
		case $at in 'ref: '*) at=${at#ref: } ;; ref:*) return 0 ;; *) continue ;; esac
		case $at in "$1" | refs/heads/.invalid) return 0 ;; esac
		# It may be another name of that branch.
		[ ! -h "$common/$at" ] || return 0
		[ ! -f "$common/$at" ] || read -r at <"$common/$at"
		case $at in ref:*) return 0 ;; esac
	done
	return 1
}

# Git puts files back without going to another commit: a watcher should know for whom. Nobody waits for that.
wrote() {
	[ -e "$record/worktree" ] && works || return
	"$python" -I -S "$launch" wrote "$PPID" "$here" </dev/null >/dev/null 2>&1 &
}

# A hook that gets lines: the check reads them, and becomes the hook that runs next.
judge_lines() {
	if [ -n "$next" ]; then
		usable || return 0
		exec "$python" -I -S "$launch" "$name" "$PPID" "$here" "$next" "$@"
	fi
	judge '' "$@"
}

# After the fact there is nothing to stop, so whatever goes wrong passes.
works() {
	[ -x "$python" ] && [ -r "$launch" ]
}

note() {
	! works || "$python" -I -S "$launch" "$name" "$PPID" "$here" "$@"
}

note_lines() {
	works || return
	[ -z "$next" ] || exec "$python" -I -S "$launch" "$name" "$PPID" "$here" "$next" "$@"
	note '' "$@"
}

# Where claims go back on a commit, somebody looks for them, and Git does not wait.
settle() {
	[ -e "$record/settle" ] && works || return
	"$python" -I -S "$launch" "$name" "$PPID" "$here" </dev/null >/dev/null 2>&1 &
}

# Of checkouts, those that go from one commit to another.
moves() {
	[ "$3" = 1 ] && [ "$1" != "$2" ] || return
	case $1 in *[!0]*) ;; *) return 1 ;; esac
}

# The directory of hooks that this one displaced. One Git process is asked about it once only.
find_displaced() {
	age
	if [ -f "$record/displaced" ]; then
		{ IFS= read -r pid && IFS= read -r start && IFS= read -r displaced; } <"$record/displaced" &&
			[ -n "$since" ] && [ "$pid $start" = "$PPID $since" ] && return
	fi
	look_up
	[ ! -d "$record" ] || printf '%s\n' "$PPID" "$since" "$displaced" 2>/dev/null >"$record/displaced"
}

# The last one that core.hooksPath names beside this, else the one that Git would use without it.
look_up() {
	displaced='' found=''
	tab='	'
	set -f
	IFS=$newline
	for line in $(git config --type=path --show-origin --get-all core.hooksPath); do
		[ "${line#*"$tab"}" = "$here" ] || { displaced=${line#*"$tab"} found=1; }
	done
	unset IFS
	set +f
	[ -n "$found" ] || displaced=$(git rev-parse --git-common-dir)/hooks
}

# This very hook without another one to run, which would judge a second time.
own() {
	{ read -r _ && IFS= read -r first; } <"$1" 2>/dev/null && [ "$first" = '# synapse-git hook 1' ]
}

# A hook that moves ours aside, runs it and was here before us must not be run again by ours.
of_pre_commit() {
	while IFS= read -r line; do
		case $line in *'generated by pre-commit'*) return 0 ;; esac
	done <"$1"
	return 1
}

# Git deploys by itself only where there is no such hook at all.
deploy() {
	git update-index -q --ignore-submodules --refresh && git diff-files --quiet --ignore-submodules -- &&
		git diff-index --quiet --cached --ignore-submodules HEAD -- && exec git read-tree -u -m "$1"
	exit 1
}

next='' moment=''
case $name in
pre-commit | prepare-commit-msg | pre-merge-commit | pre-applypatch) moment=index ;;
reference-transaction) [ "$1" != prepared ] || moment=references ;;
post-checkout) if moves "$@"; then moment=moved; elif [ "$3" = 0 ]; then moment=wrote; fi ;;
post-merge) [ "$1" = 1 ] || moment=moved ;;
post-rewrite) [ "$1" != rebase ] || moment=rewritten ;;
post-commit) moment=committed ;;
pre-push) moment=push ;;
# What a push moves in a checkout is moved before references are: this comes first.
update) case $1 in refs/heads/*) ! stood_on "$1" || moment=update ;; esac ;;
esac
# Other tools move a hook aside under such a name and may run it from what is now judged before.
aside=''
case $0 in *.old | *.legacy) aside=1 moment='' ;; esac

if [ -n "$here" ]; then
	find_displaced
	next=$displaced/$name
elif [ -n "$kept" ]; then
	next=${0%/*}/$kept
fi
if [ ! -f "$next" ] || [ ! -x "$next" ] || own "$next" || { [ -n "$aside" ] && of_pre_commit "$next"; }; then
	next=''
fi

case $moment in
index)
	settled || { ! refused || exit 1; judge "$@"; }
	# Only after this one does Git read the index again.
	[ -z "$next" ] || [ "$name" != pre-commit ] || note_content "${GIT_DIR:-.git}/index"
	;;
references) settled || judge_references "$@" ;;
push) judge_lines "$@" ;;
update) judge "$2 $3 $1" '' ;;
moved) note "$@" ;;
wrote) wrote ;;
rewritten) note_lines "$@" ;;
committed) settle ;;
esac
[ -z "$next" ] || exec "$next" "$@"
[ -z "$here" ] || [ "$name" != push-to-checkout ] || deploy "$@"
exit 0
