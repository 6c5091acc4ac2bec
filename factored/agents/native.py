"""Native function calling, in two kinds.

``native`` writes calls in the tags that tool-trained chat models write::

    <tool_call>
    {"name": "get_order_details", "arguments": {"order_id": "#W1"}}
    </tool_call>

This is the form that the chat templates of Hermes, Qwen and others give to function calls, sent as
plain text, so that it also works where a template knows no tools. ``native_api`` sends the tools
beside the messages instead: the model's server or its chat template writes them, in the form that
the model was trained on, and calls and answers are turns of their own.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from factored.agents.forms import Reading, Say, Schemas, WrittenCall
from factored.call_checks import punt, write_json_call
from factored.taubench.tasks import RESPOND, Action
from harness.completions import ToolCall
from harness.tool_calls import CLOSE, OPEN, TAGGED
from harness.validators import holding


@dataclass(frozen=True)
class TaggedForm:
    """What both kinds share: calls in the text are read from their tags."""

    name: str

    def read(self, text: str) -> Reading:
        """Return the first call, whatever else the text holds, as tau-bench does; else a message.

        An empty text is a punt.
        """
        found = TAGGED.search(text)
        if found:
            return WrittenCall(found[1].strip())
        return Say(text) if text.strip() else punt("empty", "the message is empty")

    def write(self, action: Action) -> str:
        """Return a call in its tags, a message as its text."""
        if action.name == RESPOND:
            return str(action.kwargs.get("content", ""))
        return f"{OPEN}\n{write_json_call(action)}\n{CLOSE}"

    def unreadable(self, text: str) -> Say | None:  # noqa: ARG002
        """Return None: the episode dies of it."""
        return None


@dataclass(frozen=True)
class NativeForm(TaggedForm):
    """The tools stand in the prompt; ``suffix`` holds {tools}, filled with a schema a line."""

    kind: Literal["native"]
    suffix: Annotated[str, holding("tools")]

    def system(self, policy: str, schemas: Schemas) -> str:
        """Return the policy, then the tools in their tags."""
        lines = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
        return f"{policy.strip()}\n\n{self.suffix.strip().replace('{tools}', lines)}"

    def answer(self, tool: str, observation: str) -> str:  # noqa: ARG002
        """Return the observation in the tags that those templates give it."""
        return f"<tool_response>\n{observation}\n</tool_response>"


@dataclass(frozen=True)
class NativeApiForm(TaggedForm):
    """The tools go beside the messages; the policy is the whole prompt, as in tau-bench's agent."""

    kind: Literal["native_api"]

    def tools(self, schemas: Schemas) -> tuple[str, ...]:
        """Return the schemas (as JSON) as they go with every request."""
        return tuple(json.dumps(schema, ensure_ascii=False) for schema in schemas)

    def system(self, policy: str, schemas: Schemas) -> str:  # noqa: ARG002
        """Return the policy alone."""
        return policy.strip()

    def answer(self, tool: str, observation: str) -> str:  # noqa: ARG002
        """Return the observation as it is."""
        return observation


def read_calls(calls: Sequence[ToolCall]) -> Reading:
    """Return the first of the calls beside a text, which tau-bench runs too, or a punt."""
    name, arguments = calls[0].name, calls[0].arguments
    try:
        json.loads(arguments)
    except (ValueError, RecursionError) as error:
        what = f"the arguments of {name[:60]!r} are" if name else "the call is"
        return punt("malformed", f"{what} not JSON ({error})")
    return WrittenCall(f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}')
