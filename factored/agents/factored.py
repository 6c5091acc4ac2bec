"""The factored agent: the planner asks in plain English, a tool agent writes the call."""

from dataclasses import dataclass
from typing import Literal

from factored.agents.forms import Ask, Reading, Say, Schemas, prompt, read_marked
from factored.requests import render_request
from factored.taubench.tasks import RESPOND, Action


@dataclass(frozen=True)
class FactoredForm:
    """``marker`` begins a request; ``suffix`` tells the planner so."""

    name: str
    kind: Literal["factored"]
    marker: str
    tools_heading: str
    suffix: str
    answer_prefix: str

    def system(self, policy: str, schemas: Schemas) -> str:
        """Policy, tools, suffix."""
        return prompt(policy, self.tools_heading, schemas, self.suffix)

    def read(self, text: str) -> Reading:
        """A request where the text begins with the marker, else a message."""
        marked = read_marked(text, self.marker)
        return Ask(marked) if isinstance(marked, str) else marked

    def write(self, action: Action) -> str:
        """The call as an English sentence."""
        if action.name == RESPOND:
            return str(action.kwargs.get("content", ""))
        return f"{self.marker} {render_request(action)}"

    def answer(self, tool: str, observation: str) -> str:  # noqa: ARG002
        """The observation under the same prefix for all tools."""
        return f"{self.answer_prefix}{observation}"

    def unreadable(self, text: str) -> Say | None:  # noqa: ARG002
        """The episode dies of it."""
        return None
