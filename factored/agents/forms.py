"""What the loop asks of an agent kind: its prompt, and how texts and actions become each other."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from factored.call_checks import Punt, punt
from factored.taubench.tasks import Action

Schemas = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Say:
    """A message to the user."""

    text: str


@dataclass(frozen=True)
class Ask:
    """A request in plain English: a tool agent turns it into the call."""

    request: str


@dataclass(frozen=True)
class WrittenCall:
    """The text of a call, not yet checked."""

    text: str


Reading = Say | Ask | WrittenCall | Punt


class Form(Protocol):
    """An agent kind."""

    @property
    def name(self) -> str:
        """The name of its file in conf/agent."""
        ...

    def system(self, policy: str, schemas: Schemas) -> str:
        """Return the planner's system prompt."""
        ...

    def read(self, text: str) -> Reading:
        """Return what the planner's text is: a message, a request, a call, or a punt."""
        ...

    def write(self, action: Action) -> str:
        """Return the text with which a planner of this kind takes an action; ``read`` undoes it."""
        ...

    def answer(self, tool: str, observation: str) -> str:
        """Return a tool's answer, or the reason of a punt, as the planner is shown it."""
        ...

    def unreadable(self, text: str) -> Say | None:
        """Return the message that tau-bench makes of a call that is not JSON.

        None where tau-bench dies of it.
        """
        ...


@dataclass(frozen=True)
class TextForm:
    """What the kinds that write text share: the view of the tools, and how answers are shown."""

    name: str
    tools_heading: str
    suffix: str
    answer_prefix: str

    def system(self, policy: str, schemas: Schemas) -> str:
        """Return policy, tools and instruction."""
        tools = json.dumps(list(schemas), ensure_ascii=False)
        return f"{policy.strip()}\n\n{self.tools_heading}\n{tools}\n\n{self.suffix.strip()}"

    def answer(self, tool: str, observation: str) -> str:  # noqa: ARG002
        """Return the observation behind a prefix, the same for all tools."""
        return f"{self.answer_prefix}{observation}"


@dataclass(frozen=True)
class MarkedForm(TextForm):
    """The kinds whose calls begin with a ``marker``; ``suffix`` tells the planner so."""

    marker: str

    def unreadable(self, text: str) -> Say | None:  # noqa: ARG002
        """Return None: the episode dies of it."""
        return None


def read_marked(text: str, marker: str) -> str | Say | Punt:
    """Return what follows the marker at the start of a text; a message where there is no marker.

    The marker has to be the first word and to stand once in the text; every other use of it is a
    punt with a planner error.
    """
    stripped = text.strip()
    if not stripped:
        return punt("empty", "the message is empty")
    before, *parts = re.split(rf"\b{re.escape(marker)}\b", stripped)
    if not parts:
        reason = f"a tool is only called by a message that begins with {marker}"
        return punt("no_marker", reason) if looks_like_call(text) else Say(text)
    if len(parts) > 1:
        return punt("several_calls", f"use {marker} once in a message: one call at a time")
    after = parts[0].lstrip(" :\n")
    if before.strip() and not after:
        return punt("wrong_order", f"{marker} comes first, then what it marks")
    if before.strip():
        return punt("marker_with_text", f"a message with {marker} begins with it and holds no more")
    return after or punt("empty", f"nothing follows {marker}")


def looks_like_call(text: str) -> bool:
    """Return whether a JSON object with a name and arguments stands in this text.

    Tries each brace once and searches the first 20,000 characters.
    """
    decoder = json.JSONDecoder()
    for found in re.finditer(r"\{\s*\"(?:name|arguments|parameters)\"", text[:20_000]):
        try:
            value, _ = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if "name" in value and ("arguments" in value or "parameters" in value):
            return True
    return False
