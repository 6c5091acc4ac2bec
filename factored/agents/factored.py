"""The factored agent: the planner asks in plain English, a tool agent writes the call."""

from dataclasses import dataclass
from typing import Literal

from factored.agents.forms import Ask, MarkedForm, Reading, read_marked
from factored.requests import render_request
from factored.taubench.tasks import RESPOND, Action


@dataclass(frozen=True)
class FactoredForm(MarkedForm):
    """The marker begins a request in English."""

    kind: Literal["factored"]

    def read(self, text: str) -> Reading:
        """Return a request where the text begins with the marker, else a message or a punt."""
        marked = read_marked(text, self.marker)
        return Ask(marked) if isinstance(marked, str) else marked

    def write(self, action: Action) -> str:
        """Return a call as the marker and an English sentence, a message as its text."""
        if action.name == RESPOND:
            return str(action.kwargs.get("content", ""))
        return f"{self.marker} {render_request(action)}"
