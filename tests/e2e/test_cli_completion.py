"""Shells that complete."""

from __future__ import annotations

import pytest

from tests.box import Box


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(box: Box, shell: str) -> None:
    """For the shells that there is one for."""
    done = box.synapse("completion", shell)
    assert done.code == 0 and "_SYNAPSE_GIT_COMPLETE" in done.out


@pytest.mark.parametrize(
    ("typed", "name"), [("synapse-git rel", ""), ("git-synapse rel", ""), ("git synapse rel", "_git_synapse")]
)
def test_bash_completes_a_verb_under_each_name(box: Box, typed: str, name: str) -> None:
    """Also as a command of Git, whose own completion calls a function of that name."""
    words = " ".join(typed.split())
    script = f"""eval "$(synapse-git completion bash)"; compopt() {{ :; }}
    COMP_WORDS=({words}); COMP_CWORD={typed.count(" ")}
    {name or "_synapse_git_completion"} {typed.split()[0]}; echo "${{COMPREPLY[@]}}"
    complete -p git-synapse"""
    done = box.run("bash", "-c", script)
    assert done.out.splitlines()[0] == "release" and "_synapse_git_completion" in done.out, done.text


def test_completion_for_another_shell_is_wrong_usage(box: Box) -> None:
    """It says which there are."""
    refused = box.synapse("completion", "tcsh")
    assert refused.code == 2 and "bash, zsh, fish" in refused.err
