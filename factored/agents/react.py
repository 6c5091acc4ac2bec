"""ReAct: a thought, then an action in JSON; a message to the user is an action too."""

import json
from dataclasses import dataclass
from typing import Literal

from factored.agents.forms import Reading, Say, TextForm, WrittenCall
from factored.call_checks import punt, read_json_call, write_json_call
from factored.taubench.tasks import RESPOND, Action

ACTION = "Action:"


@dataclass(frozen=True)
class ActionForm(TextForm):
    """The kinds whose action stands after the last ``Action:``."""

    def read(self, text: str) -> Reading:
        """Return a call, the message of a ``respond`` action, or a punt."""
        return read_action(text)

    def write(self, action: Action) -> str:
        """Return the action alone: a recorded decision holds no thought."""
        return f"{ACTION}\n{write_json_call(action)}"

    def unreadable(self, text: str) -> Say | None:
        """Return text that is no JSON as a message, None for JSON that is no call."""
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return Say(text)
        return None


@dataclass(frozen=True)
class ReactForm(ActionForm):
    """A thought stands before the action."""

    kind: Literal["react"]


def read_action(text: str) -> Reading:
    """Return the call after the last ``Action:``, or other words as a message to the user.

    tau-bench sends everything that is no JSON to the user. Here a text that begins like an object
    stays a call, so that a broken one is punted.
    """
    action = text.rsplit(ACTION, maxsplit=1)[-1].strip()
    if not action:
        return punt("empty", f"nothing follows {ACTION}" if ACTION in text else "an empty message")
    if not action.startswith(("{", "```")):
        return Say(action)
    call = read_json_call(action)
    if not isinstance(call, Action) or call.name != RESPOND:
        return WrittenCall(action)
    content = call.kwargs.get("content")
    if not isinstance(content, str) or not content.strip():
        return punt("missing_field", f"{RESPOND} needs the message in 'content'")
    return Say(content)
