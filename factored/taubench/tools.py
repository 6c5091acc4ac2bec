"""A tool of a domain: one function whose signature is the schema and whose body is the rules.

    @tool
    def cancel_reservation(db: State, reservation_id: str) -> Record:
        \"\"\"Cancel the whole reservation.\"\"\"
        require(reservation_id in db["reservations"], "reservation not found")
        reservation = db["reservations"].edit(reservation_id)
        ...
        return reservation

The checks stand in the order in which they are made, the effect follows. A tool answers with a
text or with an object, which is given as JSON; whatever it raises becomes ``Error: {text}``.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from factored.taubench.state import Record, State

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


class RefusedError(Exception):
    """A tool's own check failed; the text is what the agent reads after ``Error: ``."""


class EpisodeCrashError(Exception):
    """A step without an observation: the original environment dies here, with reward 0."""


def require(condition: object, text: str) -> None:
    """Raise RefusedError with this text unless the condition holds."""
    if not condition:
        raise RefusedError(text)


@dataclass(frozen=True)
class Tool:
    """A tool by name; ``parameters`` in the order of the signature, all of them required."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]

    @property
    def schema(self) -> Record:
        """The tool in OpenAI's function format, from the signature and the docstring."""
        hints = get_type_hints(self.function, include_extras=True)
        properties = {name: json_schema(hints[name]) for name in self.parameters}
        parameters = {
            "type": "object",
            "properties": properties,
            "required": list(self.parameters),
        }
        description = inspect.cleandoc(self.function.__doc__ or "")
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": description,
                "parameters": parameters,
            },
        }

    def call(self, db: State, arguments: Mapping[str, Any], domain: str) -> str:
        """Run the tool on a copy of the arguments and return the observation that the agent sees.

        Whatever the tool raises becomes ``Error: {text}``. Raises EpisodeCrashError where the tool
        gives no answer.
        """
        try:
            self._check_names(arguments, domain)
            answer = self.function(db, **deepcopy(dict(arguments)))
            if answer is not None:
                return answer if isinstance(answer, str) else json.dumps(answer)
        except Exception as error:  # noqa: BLE001 - any failure is something the agent reads
            return f"Error: {error}"
        raise EpisodeCrashError(f"{self.name} gave no answer")

    def _check_names(self, arguments: Mapping[str, Any], domain: str) -> None:
        """Raise TypeError for wrong argument names, in the words that the original's Python gave.

        Written out here, since Python's words vary by version and agents read them.
        """
        call = f"{''.join(word.capitalize() for word in self.name.split('_'))}.invoke()"
        if "data" in arguments:
            module = f"tau_bench.envs.{domain}.tools.{self.name}"
            raise TypeError(f"{module}.{call} got multiple values for keyword argument 'data'")
        for name in arguments:
            if name not in self.parameters:
                raise TypeError(f"{call} got an unexpected keyword argument '{name}'")
        missing = [name for name in self.parameters if name not in arguments]
        if missing:
            plural = "s" if len(missing) > 1 else ""
            raise TypeError(
                f"{call} missing {len(missing)} required positional argument{plural}: "
                f"{_listed(missing)}"
            )


def tool(function: Callable[..., Any]) -> Tool:
    """Declare a function as a tool; its first parameter is the state, the others the schema's."""
    parameters = tuple(inspect.signature(function).parameters)[1:]
    return Tool(function.__name__, function, parameters)


def json_schema(hint: Any) -> Record:
    """Return the JSON schema of a parameter's type: str, int, float, Literal, list, TypedDict.

    ``Annotated[T, "text"]`` adds the text as description.
    """
    if get_origin(hint) is Annotated:
        plain, description = get_args(hint)
        return {**json_schema(plain), "description": description}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) is list:
        return {"type": "array", "items": json_schema(get_args(hint)[0])}
    if is_typeddict(hint):
        fields = get_type_hints(hint, include_extras=True)
        properties = {name: json_schema(field) for name, field in fields.items()}
        return {"type": "object", "properties": properties, "required": list(fields)}
    return {"type": JSON_TYPES[hint]}


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    if len(quoted) <= 2:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


@dataclass(frozen=True)
class Domain:
    """A domain's name, its tables (one JSON file each) and its tools.

    ``writes`` names the tools that change data, ``terminating`` those that end a dialogue.
    """

    name: str
    tables: tuple[str, ...]
    tools: tuple[Tool, ...]
    writes: frozenset[str]
    terminating: frozenset[str] = frozenset({"transfer_to_human_agents"})

    def tool(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)
