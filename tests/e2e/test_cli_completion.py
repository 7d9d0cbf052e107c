"""Shells that complete."""

from __future__ import annotations

import pytest

from tests.box import Box


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(box: Box, shell: str) -> None:
    """For the shells that there is one for."""
    done = box.synapse("completion", shell)
    assert done.code == 0 and "_SYNAPSE_GIT_COMPLETE" in done.out


def test_completion_for_another_shell_is_wrong_usage(box: Box) -> None:
    """It says which there are."""
    refused = box.synapse("completion", "tcsh")
    assert refused.code == 2 and "bash, zsh, fish" in refused.err
