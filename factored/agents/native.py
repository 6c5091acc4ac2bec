"""Native function calling: calls in the tags that tool-trained chat models write.

    <tool_call>
    {"name": "get_order_details", "arguments": {"order_id": "#W1"}}
    </tool_call>

This is the form that the chat templates of Hermes, Qwen and others give to function calls, sent as
plain text, so that it also works where a template knows no tools.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal

from factored.agents.forms import Reading, Say, Schemas, WrittenCall
from factored.calls import punt, write_json_call
from factored.taubench.tasks import RESPOND, Action

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_CALL = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|\Z)", re.DOTALL)


@dataclass(frozen=True)
class NativeForm:
    """``suffix`` holds {tools}, where the schemas go, one a line."""

    name: str
    kind: Literal["native"]
    suffix: str

    def system(self, policy: str, schemas: Schemas) -> str:
        """Policy, then the tools in their tags."""
        lines = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
        return f"{policy.strip()}\n\n{self.suffix.strip().replace('{tools}', lines)}"

    def read(self, text: str) -> Reading:
        """The first call, as tau-bench runs it, whatever else the message holds; else a message."""
        found = _CALL.search(text)
        if found:
            return WrittenCall(found[1].strip())
        return Say(text) if text.strip() else punt("empty", "the message is empty")

    def write(self, action: Action) -> str:
        """The call in its tags."""
        if action.name == RESPOND:
            return str(action.kwargs.get("content", ""))
        return f"{OPEN}\n{write_json_call(action)}\n{CLOSE}"

    def answer(self, tool: str, observation: str) -> str:  # noqa: ARG002
        """The observation in the tags that those templates give it."""
        return f"<tool_response>\n{observation}\n</tool_response>"

    def unreadable(self, text: str) -> Say | None:  # noqa: ARG002
        """The episode dies of it."""
        return None
