"""``completion``: what makes a shell complete verbs, options, tasks and files."""

from __future__ import annotations

from synapse_git.cli import output
from synapse_git.cli.verb import Argument, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call

# The name that the script calls, and the variable in which it asks; `edge` looks for it.
_PROGRAM = "synapse-git"
_ASKING = "_SYNAPSE_GIT_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
# The other name, and Git's own completion, which looks for a function called like its command.
_ALSO = {
    "bash": """
complete -o nosort -F _synapse_git_completion git-synapse
_git_synapse() {
    local typed=("${COMP_WORDS[@]}") at=${__git_cmd_idx:-1}
    local COMP_WORDS=(synapse-git "${typed[@]:at + 1}") COMP_CWORD=$((COMP_CWORD - at))
    _synapse_git_completion synapse-git
}""",
    "zsh": """
compdef _synapse_git_completion git-synapse
_git-synapse() { _synapse_git_completion }""",
    "fish": """
complete --no-files --command git-synapse --arguments "(_synapse_git_completion)";""",
}


def run(call: Call) -> int:
    """Exit 0: printed, to be read by the shell at its start."""
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    from synapse_git.cli import menu

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[call.text("shell")]
    # click's own method for bash starts a bash to look at its version, and complains when there is none.
    text = ShellComplete.source(kind(menu.build(call.env), {}, _PROGRAM, _ASKING)).strip("\n")
    text += f"\n{_ALSO[call.text('shell')]}"
    if call.json:
        output.structure({"shell": call.text("shell"), "script": text})
    else:
        output.result(text)
    return 0


def _shell(given: str) -> str:
    """Raises: ValueError, for a shell that there is no script for."""
    if given not in SHELLS:
        raise ValueError(f"there are scripts for {', '.join(SHELLS)}, not for {given!r}")
    return given


VERBS = (
    Verb(
        "completion",
        run,
        summary="Print what makes your shell complete commands.",
        help="Print the script that makes bash, zsh or fish complete verbs, options, tasks and files. Let your shell "
        "read it when it starts.",
        examples=(
            ("completion bash", 'in ~/.bashrc: eval "$(synapse-git completion bash)"'),
            ("completion zsh", 'in ~/.zshrc: eval "$(synapse-git completion zsh)"'),
            ("completion fish > ~/.config/fish/completions/synapse-git.fish", "once"),
        ),
        argument=Argument("shell", "SHELL", convert=_shell, completes="shell"),
    ),
)
