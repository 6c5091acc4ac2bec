"""User simulators: who speaks for the user.

A simulator says one line at a time; a line that contains STOP ends the dialogue.
"""

from collections.abc import Sequence
from typing import Protocol

STOP = "###STOP###"


class User(Protocol):
    """What an environment asks of a simulator.

    A simulator on a model fills this in; it takes a reasoning model's thoughts out of a line before
    it says it, since a STOP in a thought is not meant.
    """

    @property
    def cost(self) -> float:
        """US dollars for all its model calls since ``reset``."""
        ...

    def reset(self, instruction: str) -> str:
        """Begin a dialogue with this instruction and return the opening line."""
        ...

    def step(self, content: str) -> str:
        """Return the answer to the agent's message."""
        ...


class ScriptedUser:
    """Says the given lines whatever the agent says, then stops."""

    cost = 0.0

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = tuple(lines)
        self._said = 0

    def reset(self, instruction: str) -> str:  # noqa: ARG002
        """Begin again: return the first line."""
        self._said = 0
        return self._next()

    def step(self, content: str) -> str:  # noqa: ARG002
        """Return the next line, and STOP after the last one."""
        return self._next()

    def _next(self) -> str:
        self._said += 1
        return self._lines[self._said - 1] if self._said <= len(self._lines) else STOP


class RecordedUser(ScriptedUser):
    """Says the user's lines of a recorded dialogue; raises LookupError after the last one.

    A STOP there would end a dialogue that the recording leaves open.
    """

    def _next(self) -> str:
        if self._said >= len(self._lines):
            raise LookupError("the recording holds no further line of the user")
        return super()._next()
