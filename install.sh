#!/bin/sh
# Installs synapse-git for the user who runs it, from the checkout this script lies in, without root.
# What it makes: a private Python environment under ~/.local/share/synapse-git, two links in ~/.local/bin.
set -eu

usage() {
    cat <<'TEXT'
usage: ./install.sh [--demo | --test [PYTEST ARGUMENT…] | --uninstall | --help]

  (nothing)    install or upgrade synapse-git for you, then check it with `synapse-git doctor`
  --demo       the same, then play the main job in a scratch repository
  --test       make a development environment in .venv and run the whole test suite; installs nothing
  --uninstall  take away what this script made; the hub's journal stays

Needs Python 3.11 or newer and Git 2.34 or newer. PYTHON=/path/to/python3 chooses the interpreter.
TEXT
}

say() { printf '%s\n' "$*"; }
step() { printf '• %s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# Runs a command whose output matters only when it fails.
quietly() {
    "$@" >"$log" 2>&1 </dev/null || {
        status=$?
        printf '\ninstall.sh: this failed with status %s: %s\n' "$status" "$*" >&2
        tail -n 20 "$log" | sed 's/^/    /' >&2
        advise >&2
        exit 1
    }
}

advise() {
    if grep -q -e ensurepip -e "No module named venv" "$log"; then
        say "Python's own venv is not whole. Debian and Ubuntu: apt install python3-venv; or install uv or pipx."
    elif grep -qi -e 'no matching distribution' -e 'connect' -e 'resolution' -e 'timed out' -e 'SSL' -e 'proxy' "$log"; then
        say "The package index was not reached. Check the network and HTTPS_PROXY, or name your own index:"
        say "    PIP_INDEX_URL=https://… ./install.sh   (uv: UV_DEFAULT_INDEX=https://…)"
    elif grep -qi -e 'no space left' -e 'permission denied' -e 'read-only' "$log"; then
        say "Make room, or make $home and $bin writable, and run this again."
    fi
}

tidy() {
    status=$?
    rm -f "$log"
    # Half an environment would look like a whole one to the next run.
    if [ -n "$unfinished" ]; then rm -rf "$unfinished"; fi
    exit "$status"
}

# ---- what is needed ----

find_python() {
    for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        [ -n "$name" ] || continue
        # The base of an activated environment, or behind a version manager's shim, outlives both.
        python=$("$name" -I -c 'import sys
if sys.version_info >= (3, 11): print(getattr(sys, "_base_executable", "") or sys.executable)' 2>/dev/null) || continue
        [ -z "$python" ] || return 0
    done
    fail "no Python 3.11 or newer was found. Install one, or name it: PYTHON=/path/to/python3 ./install.sh"
}

check_git() {
    version=$(git --version 2>/dev/null | sed -n 's/^git version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    [ -n "$version" ] || fail "git is not on PATH. Install Git 2.34 or newer"
    major=${version% *} minor=${version#* }
    [ "$major" -gt 2 ] || { [ "$major" -eq 2 ] && [ "$minor" -ge 34 ]; } ||
        fail "Git $major.$minor is too old; 2.34 or newer is needed"
}

has() { command -v "$1" >/dev/null 2>&1; }

# ---- environments ----

# Each environment of ours holds a file that tells how far it has come: "begun", or what it was completed for.
mark() { printf '%s\n' "$2" >"$1/.synapse-git"; }
marked() { cat "$1/.synapse-git" 2>/dev/null || true; }

# make_environment DIR: a working virtual environment is in DIR afterwards; a whole one stays as it is.
make_environment() {
    if [ -d "$1" ] && [ -z "$(marked "$1")" ]; then
        fail "$1 exists and was not made by this script. Move it away and run this again"
    fi
    if [ "$(marked "$1")" != begun ] && "$1/bin/python" -I -c '' 2>/dev/null; then
        if has uv || "$1/bin/python" -I -m pip --version >/dev/null 2>&1; then return 0; fi
    fi
    rm -rf "$1"
    unfinished=$1
    if has uv; then quietly uv venv --quiet --python "$python" "$1"; else quietly "$python" -I -m venv "$1"; fi
}

# install_into DIR FINGERPRINT REQUIREMENT…
install_into() {
    into=$1 fingerprint=$2
    shift 2
    mark "$into" begun
    if has uv; then
        quietly uv pip install --quiet --compile-bytecode --python "$into/bin/python" "$@"
    else
        quietly "$into/bin/python" -I -m pip install --quiet --upgrade --disable-pip-version-check "$@"
    fi
    mark "$into" "$fingerprint"
    unfinished=
}

# Launchers by older versions of pip import `re`, which takes longer than starting Python does. And no PYTHONHOME or
# PYTHONPATH of whoever calls it may lead the interpreter astray.
quicken() {
    for name in synapse-git git-synapse; do
        sed -e '1s|^#!/[^ ]*/python[^ /]*$|& -I|' -e '/^import re$/d' -e 's/re\.sub(.*)$/sys.argv[0]/' \
            "$1/bin/$name" >"$1/bin/$name.new"
        chmod 755 "$1/bin/$name.new"
        mv "$1/bin/$name.new" "$1/bin/$name"
    done
}

# ---- installing ----

pipx_environment() { printf '%s/synapse-git' "$(pipx environment --value PIPX_LOCAL_VENVS 2>/dev/null)"; }

# Which environment is, or will be, the user's. One that exists keeps its place, since hooks name its interpreter.
choose_environment() {
    environment=$own
    by=venv
    if has uv; then by=uv; fi
    if has pipx && [ ! -d "$own" ] && { ! has uv || [ -d "$(pipx_environment)" ]; }; then
        environment=$(pipx_environment)
        by=pipx
    fi
}

is_ours() {
    case $(readlink "$1") in "$own"/bin/* | "$environment"/bin/*) return 0 ;; esac
    return 1
}

check_links() {
    for name in synapse-git git-synapse; do
        place=$bin/$name
        if [ -L "$place" ] && is_ours "$place"; then continue; fi
        if [ -L "$place" ] || [ -e "$place" ]; then
            fail "$place exists and was not made by this script. Move it away and run this again"
        fi
    done
}

install_program() {
    find_python
    check_git
    choose_environment
    check_links
    doing=installing
    if [ -x "$environment/bin/synapse-git" ]; then doing=upgrading; fi
    step "$("$python" --version) at $python"
    step "$doing $environment (with $by)"
    mkdir -p "$bin"
    rm -f "$home.uninstalled" "$environment.uninstalled"
    if [ "$by" = pipx ]; then
        PIPX_BIN_DIR=$bin quietly pipx install --force --python "$python" "$checkout"
    else
        mkdir -p "$home"
        make_environment "$environment"
        install_into "$environment" whole "$checkout"
    fi
    quicken "$environment"
    quietly "$environment/bin/python" -I -m compileall -q "$environment/lib"
    for name in synapse-git git-synapse; do ln -sf "$environment/bin/$name" "$bin/$name"; done
    step "linked synapse-git and git-synapse into $bin"
    # A hub that runs the old code would import new modules into it.
    if [ $doing = upgrading ]; then "$bin/synapse-git" hub stop >/dev/null 2>&1 </dev/null || true; fi
    hint=
    case :$PATH: in
    *:"$bin":*) ;;
    *)
        hint=yes
        PATH=$bin:$PATH
        ;;
    esac
    say
}

# Said last, where it is read.
hint_at_path() {
    [ -n "$hint" ] || return 0
    say
    say "$bin is not on your PATH. Add this line to your shell's start-up file, and type it here:"
    say "      export PATH=\"$bin:\$PATH\""
}

# ---- uninstalling ----

# What could not be found, in a repository that was moved for example, passes everything once the program is gone.
take_guards_off() {
    if [ ! -e "$state/journal.db" ]; then by_hand; return; fi
    (cd / && "$program" status --json) 2>/dev/null </dev/null | "$environment/bin/python" -I -c '
import json, os, subprocess, sys
for tree in json.loads(sys.stdin.read() or "{}").get("worktrees", []):
    root = tree["root"]
    if "guard" in tree["layers"] and isinstance(root, str) and os.path.isdir(root):
        for name in tree.get("tools", []):
            agents = [sys.argv[1], "-C", root, "agents", "uninstall", name]
            subprocess.run(agents, stdin=subprocess.DEVNULL, capture_output=True)
        done = subprocess.run([sys.argv[1], "-C", root, "uninstall"], stdin=subprocess.DEVNULL, capture_output=True)
        print("•", "could NOT take" if done.returncode else "took", "the guard out of", root)' "$program" || true
}

# What knows where the guards are is gone already.
by_hand() {
    step "repositories with the guard could not be looked up. One that still has it checks nothing, and says so."
    say "      To take it out: delete the hooks that say 'synapse-git hook' in their second line, move those that are kept in"
    say "      .git/hooks.kept-by-synapse-git back, and cut the block that names synapse-git from the end of .git/config."
    say "      Or install again, run 'synapse-git uninstall' in each, then './install.sh --uninstall'."
}

uninstall_program() {
    choose_environment
    program=$environment/bin/synapse-git
    # Hooks look for it beside the directory that the program was in.
    note=$home.uninstalled
    if [ "$by" = pipx ]; then note=$environment.uninstalled; fi
    if [ -x "$program" ]; then
        take_guards_off
        for name in claude codex gemini cursor copilot opencode; do
            (cd / && "$program" agents uninstall "$name" --user) >/dev/null 2>&1 </dev/null || true
        done
        "$program" hub stop >/dev/null 2>&1 </dev/null || true
    elif [ ! -e "$note" ] && { [ -d "$state" ] || [ -d "$environment" ]; }; then
        by_hand
    fi
    removed=
    for name in synapse-git git-synapse; do
        if [ -L "$bin/$name" ] && is_ours "$bin/$name"; then
            rm -f "$bin/$name"
            removed=yes
            step "removed $bin/$name"
        fi
    done
    if [ "$by" = pipx ] && [ -d "$environment" ]; then quietly pipx uninstall synapse-git; fi
    for made in "$environment" "$home"; do
        if [ -d "$made" ]; then
            rm -rf "$made"
            removed=yes
            step "removed $made"
        fi
    done
    if [ -n "$removed" ]; then
        mkdir -p "${note%/*}"
        say "synapse-git was uninstalled. Hooks of it that are left somewhere pass while this file is here." >"$note"
        step "left $note for hooks that may be left in repositories which were moved"
    fi
    if [ -z "$removed" ]; then step "nothing is installed"; fi
    if [ -d "$state" ]; then
        step "the hub's journal and log stay in $state. To remove them as well:"
        say "      rm -r '$state'"
    fi
}

# ---- testing ----

run_tests() {
    find_python
    check_git
    environment=$checkout/.venv
    fingerprint=$("$python" -I -c 'import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read() + sys.executable.encode()).hexdigest())' "$checkout/pyproject.toml")
    if [ "$(marked "$environment")" != "$fingerprint" ] || ! "$environment/bin/python" -I -c '' 2>/dev/null; then
        step "making the development environment in $environment"
        make_environment "$environment"
        # pip learnt to read dependency groups late, so they are handed to it as a file.
        "$environment/bin/python" -I -c 'import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["dependency-groups"]["dev"], sep="\n")' "$checkout/pyproject.toml" >"$environment/dev.txt"
        install_into "$environment" "$fingerprint" -e "$checkout" -r "$environment/dev.txt"
    fi
    quicken "$environment"
    rm -f "$log"
    trap - EXIT INT TERM HUP
    cd "$checkout"
    exec "$environment/bin/python" -m pytest -n 2 "$@"
}

# ---- the way through ----

checkout=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
if [ -z "${HOME:-}" ]; then
    HOME=$(eval "printf %s ~$(id -un)")
    export HOME
fi
# Relative XDG directories are to be ignored.
case ${XDG_DATA_HOME:-} in /*) home=$XDG_DATA_HOME/synapse-git ;; *) home=$HOME/.local/share/synapse-git ;; esac
case ${XDG_STATE_HOME:-}$(uname) in
/*) state=$XDG_STATE_HOME/synapse-git ;;
*Darwin) state="$HOME/Library/Application Support/synapse-git" ;;
*) state=$HOME/.local/state/synapse-git ;;
esac
own=$home/environment
bin=$HOME/.local/bin
# Each of these sends an installation elsewhere, or another interpreter's modules into this one.
unset PYTHONHOME PYTHONPATH PYTHONUSERBASE PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_VIRTUALENV
# uv looks past the system's certificates unless told, and with them past a company's proxy.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}" UV_NATIVE_TLS="${UV_NATIVE_TLS:-1}"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_PREFIX

unfinished=
log=$(mktemp "${TMPDIR:-/tmp}/synapse-git-install.XXXXXX")
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

case ${1-} in
'')
    install_program
    # What it finds to mend in some repository does not undo the installation.
    "$bin/synapse-git" doctor || step "synapse-git is installed; the above wants mending all the same"
    hint_at_path
    ;;
--demo)
    install_program
    "$bin/synapse-git" demo
    hint_at_path
    ;;
--test)
    shift
    run_tests "$@"
    ;;
--uninstall) uninstall_program ;;
-h | --help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
