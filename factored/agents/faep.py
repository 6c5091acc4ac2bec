"""FAEP, the factored agent's equivalent prompt: the planner writes the JSON call itself.

Prompt, loop, punts and step cost are those of the factored agent; only the suffix differs.
"""

import json
from dataclasses import dataclass
from typing import Literal

from factored.agents.forms import MarkedForm, Reading, WrittenCall, read_marked
from factored.call_checks import punt, write_json_call
from factored.taubench.tasks import RESPOND, Action


@dataclass(frozen=True)
class FaepForm(MarkedForm):
    """The marker begins a call in JSON."""

    kind: Literal["faep"]

    def read(self, text: str) -> Reading:
        """Return a call where the text begins with the marker, else a message or a punt."""
        marked = read_marked(text, self.marker)
        return _one_object(marked) if isinstance(marked, str) else marked

    def write(self, action: Action) -> str:
        """Return a call as the marker and its JSON, a message as its text."""
        if action.name == RESPOND:
            return str(action.kwargs.get("content", ""))
        return f"{self.marker} {write_json_call(action)}"


def _one_object(text: str) -> Reading:
    """Return the call, or a punt where more than one JSON object follows the marker."""
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return WrittenCall(text)
    more = text[end:].strip(" \n,;")
    if more.startswith("{"):
        return punt("several_calls", "a message holds one call")
    if more:
        return punt("marker_with_text", "nothing may follow the call")
    return WrittenCall(text[:end])
