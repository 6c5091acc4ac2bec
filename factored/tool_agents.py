"""Tool agents: from a request in plain English to the text of one JSON call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from factored.call_checks import Punt, punt, write_json_call
from factored.call_schema import Constrained, call_schema
from factored.requests import RequestError, parse_request
from factored.roles import ContextExceededError, Role, RoleSettings
from harness.completions import Message
from harness.validators import Filled, Name, holding

Line = tuple[str, str]  # who said it, and what: a dialogue as the tool agent reads it


class ToolAgent(Protocol):
    """What the loop asks of a tool agent."""

    def write(self, request: str, dialogue: Sequence[Line]) -> str | Punt:
        """Return the text of the call, or a punt where the agent has none to give."""
        ...


@dataclass(frozen=True)
class OracleSpec:
    """A deterministic parser of requests: the upper bound of what a tool agent can do."""

    name: Name
    kind: Literal["oracle"]


@dataclass(frozen=True)
class Example:
    """A request and its call, shown as turns of an earlier exchange."""

    request: str
    call: str


@dataclass(frozen=True)
class ModelToolAgentSpec(RoleSettings):
    """A small model, and its prompt.

    ``context`` is what it reads before the request: nothing, the ``last`` messages, or all of
    them; the oldest are left out beyond ``max_characters``. ``instruction`` holds {tools}, filled
    in as ``tools_as`` says; a model that is trained on the tools (``sees_schemas`` false) gets
    ``instruction_without_schemas``. ``constrained`` is what its text is held to while it is
    written.
    """

    name: Name
    kind: Literal["llm"]
    context: Literal["request", "last", "conversation"]
    last: Annotated[int, Field(ge=0)]
    max_characters: Annotated[int, Field(ge=1)]
    sees_schemas: bool
    tools_as: Literal["signatures", "schemas"]
    instruction: Annotated[str, holding("tools")]
    instruction_without_schemas: Filled
    examples: tuple[Example, ...]
    request: Annotated[str, holding("request")]
    constrained: Constrained = "none"


class Oracle:
    """Reads the request's text and nothing else."""

    def write(self, request: str, dialogue: Sequence[Line]) -> str | Punt:  # noqa: ARG002
        """Return the call that the request says, or why it says none."""
        try:
            return write_json_call(parse_request(request))
        except RequestError as error:
            return punt("malformed", f"the request cannot be read ({error})")


@dataclass(frozen=True)
class ModelToolAgent:
    """Puts the request, and as much of the dialogue as its settings say, before a model.

    ``schemas`` are the tools in OpenAI's function format, ``call_schema`` what the text is held to.
    """

    spec: ModelToolAgentSpec
    role: Role
    schemas: Sequence[Mapping[str, Any]]
    call_schema: str | None

    def write(self, request: str, dialogue: Sequence[Line]) -> str | Punt:
        """Return the model's text as it is.

        Raises InfrastructureError and InterruptedEpisodeError as ``Role.answer`` does.
        """
        messages, left_out = tool_agent_messages(self.spec, self.schemas, request, dialogue)
        self.role.usage.shortened += left_out > 0
        try:
            return self.role.reply(messages, self.call_schema)
        except ContextExceededError as error:
            return punt("malformed", f"the tool agent could not read the request ({error})")


def call_schema_of(spec: object, schemas: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the schema that a tool agent's text is held to; None for one that writes freely.

    Raises UserError where no text can be held to a tool's schema.
    """
    return call_schema(schemas, spec.constrained) if isinstance(spec, ModelToolAgentSpec) else None


def canonical_tool_agent(tool_agent: Any) -> tuple[Any, list[str]]:
    """Return a tool agent's config in its one spelling, and notes for the user.

    Leaves out ``constrained: none``, so that runs from before that key stay the same runs.
    """
    if not isinstance(tool_agent, Mapping) or "constrained" not in tool_agent:
        return tool_agent, []
    if tool_agent["constrained"] == "none":
        return {key: value for key, value in tool_agent.items() if key != "constrained"}, []
    model = tool_agent.get("model")
    thinking = isinstance(model, Mapping) and model.get("thinking")
    note = "tool_agent.constrained: the model's first words are the call, so it does not think"
    return tool_agent, [note] if thinking else []


def constraint_in_words(spec: ModelToolAgentSpec, tools: int) -> str:
    """Say what the tool agent's text is held to, and by what: token masks or a server."""
    if spec.constrained == "none":
        return "tool_agent.constrained=none: the tool agent writes freely"
    to = {"json": "the form of a call", "schemas": f"the schemas of {tools} tools"}
    if spec.engine.supports_schema:
        by = f"by token masks of {spec.engine.grammar_version()}"
    else:
        by = f"as far as engine {spec.engine.name} obeys the schema that goes with each request"
    return f"tool_agent.constrained={spec.constrained}: held to {to[spec.constrained]} {by}"


def tool_agent_messages(
    spec: ModelToolAgentSpec,
    schemas: Sequence[Mapping[str, Any]],
    request: str,
    dialogue: Sequence[Line],
) -> tuple[tuple[Message, ...], int]:
    """Return the tool agent's prompt, and how many messages of its context were left out."""
    instruction = spec.instruction_without_schemas
    if spec.sees_schemas:
        instruction = spec.instruction.replace("{tools}", tools_text(schemas, spec.tools_as))
    lines = list(dialogue) if spec.context != "request" else []
    if spec.context == "last":
        lines = lines[-spec.last :] if spec.last else []
    kept = _fitting([f"{who}: {text}" for who, text in lines], spec.max_characters)
    asked = spec.request.replace("{request}", request)
    content = "\n".join([*kept, asked]) if kept else asked
    messages = [Message("system", instruction.strip())]
    for example in spec.examples:
        messages.append(Message("user", spec.request.replace("{request}", example.request)))
        messages.append(Message("assistant", example.call))
    return (*messages, Message("user", content)), len(lines) - len(kept)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """Return the newest lines that fit into this many characters, in their order."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]


def tools_text(schemas: Sequence[Mapping[str, Any]], tools_as: str) -> str:
    """Return one tool a line: its schema (``tools_as`` "schemas") or its signature.

    A signature takes a fifth of the tokens.
    """
    if tools_as == "schemas":
        return "\n".join(json.dumps(schema["function"], ensure_ascii=False) for schema in schemas)
    return "\n".join(_signature(schema["function"]) for schema in schemas)


def _signature(function: Mapping[str, Any]) -> str:
    properties = function["parameters"].get("properties", {})
    fields = ", ".join(f"{name}: {_type(schema)}" for name, schema in properties.items())
    return f"{function['name']}({fields})"


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"[{_type(schema.get('items', {}))}]"
    if schema.get("type") == "object":
        fields = schema.get("properties", {}).items()
        return f"{{{', '.join(f'{name}: {_type(inner)}' for name, inner in fields)}}}"
    return str(schema.get("type", "any"))
