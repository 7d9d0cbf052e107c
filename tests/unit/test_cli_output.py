"""Answers that can go nowhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from synapse_git.cli import output

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")


def test_an_answer_that_nothing_takes_is_an_error_and_a_message_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full: what was done is done, and only who waits for the answer must know."""
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        stream.write("a message")
        output.settle()
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        stream.write("the answer")
        with pytest.raises(output.Unwritable, match="No space"):
            output.settle()


def test_an_answer_to_a_closed_stream_fails_when_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before, so that the work is done; and not by going into a file that was opened since."""
    monkeypatch.setattr(sys, "stdout", None)
    output.stand_in()
    output.settle()
    with sys.stdout as stream:
        stream.write("the answer")
        with pytest.raises(output.Unwritable):
            output.settle()
    monkeypatch.setattr(sys, "stdout", stream := sys.__stderr__)
    output.stand_in()
    assert sys.stdout is stream
