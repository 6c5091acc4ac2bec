"""A call as JSON text, run or punted: checked against the tools' schemas before it reaches a tool.

A call is one JSON object::

    {"name": "cancel_order", "arguments": {"order_id": "#W1", "reason": "ordered by mistake"}}

What cannot be run is a punt: its kind is counted, its reason goes back to the planner.
"""

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from factored.taubench.tasks import Action, MalformedActionError

CallError = Literal[
    "malformed", "unknown_tool", "missing_field", "hallucinated_field", "wrong_type"
]
PlannerError = Literal["no_marker", "several_calls", "marker_with_text", "wrong_order", "empty"]
CALL_ERRORS: tuple[CallError, ...] = (
    "malformed",
    "unknown_tool",
    "missing_field",
    "hallucinated_field",
    "wrong_type",
)
PLANNER_ERRORS: tuple[PlannerError, ...] = (
    "no_marker",
    "several_calls",
    "marker_with_text",
    "wrong_order",
    "empty",
)
# What a violated keyword of a schema means; any other keyword is a wrong type.
_KINDS: Mapping[str, CallError] = {
    "required": "missing_field",
    "additionalProperties": "hallucinated_field",
}
MAX_CHARACTERS = 100_000  # of a call: far above any real one
MAX_REASON = 300  # characters of a reason: it becomes a part of the next prompt

_FENCE = re.compile(r"\A```(?:json)?\s*\n(?P<inside>.*?)\n?```\Z", re.DOTALL)


@dataclass(frozen=True)
class Punt:
    """A turn that cannot be run: its first error, all of its errors, and the reason in words."""

    error: CallError | PlannerError
    reason: str
    errors: tuple[str, ...] = ()

    def as_row(self) -> dict[str, Any]:
        """Return the punt as it stands in files."""
        return {"error": self.error, "reason": self.reason, "errors": list(self.errors)}


def punt(error: CallError | PlannerError, reason: str, errors: Sequence[str] = ()) -> Punt:
    """Return a punt whose reason is cut to MAX_REASON characters; ``errors`` default to the one."""
    short = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}..."
    return Punt(error, short, tuple(errors) or (error,))


class CallChecker:
    """Checks calls of the tools of one domain against their schemas."""

    def __init__(self, schemas: Sequence[Mapping[str, Any]]) -> None:
        """Take the schemas in OpenAI's function format."""
        self._validators = {}
        for function in (schema["function"] for schema in schemas):
            # The parameters are the tool's signature: it takes no others.
            closed = {**deepcopy(dict(function["parameters"])), "additionalProperties": False}
            self._validators[function["name"]] = _Validator(closed)

    def read(self, text: str) -> Action | Punt:
        """Return the call that a text holds, or the punt that says why it is not run.

        The text is one JSON object, alone or in a code fence; anything around it is malformed.
        """
        action = read_json_call(text)
        return action if isinstance(action, Punt) else self.check(action)

    def check(self, action: Action) -> Action | Punt:
        """Return the action itself where its tool can take it, or else a punt.

        A parameter that the tool does not have is a ``hallucinated_field``; inside of objects the
        schema says whether further fields are allowed.
        """
        validator = self._validators.get(action.name)
        if validator is None:
            known = ", ".join(self._validators)
            return punt("unknown_tool", f"there is no tool {action.name!r}; the tools are {known}")
        problems = list(validator.iter_errors(dict(action.kwargs)))
        if not problems:
            return action
        kinds = sorted(
            {_KINDS.get(str(problem.validator), "wrong_type") for problem in problems},
            key=CALL_ERRORS.index,
        )
        reasons = "; ".join(_in_words(problem) for problem in problems[:3])
        return punt(kinds[0], f"{action.name}: {reasons}", kinds)


def read_json_call(text: str) -> Action | Punt:
    """Return the call that a text holds, or a punt where it holds none.

    Checks the form alone: ``CallChecker`` checks the call against the tools' schemas.
    """
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    if len(stripped) > MAX_CHARACTERS:
        return punt("malformed", f"a call of over {MAX_CHARACTERS} characters")
    try:
        value = json.loads(
            fenced["inside"] if fenced else stripped,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        return punt("malformed", f"the call is not JSON ({error})")
    if not isinstance(value, dict):
        return punt("malformed", "the call is not a JSON object with a name and arguments")
    return _call_of(value)


def write_json_call(action: Action) -> str:
    """Return the text of a call, which ``read_json_call`` reads back."""
    return json.dumps({"name": action.name, "arguments": dict(action.kwargs)}, ensure_ascii=False)


def _call_of(value: Mapping[str, Any]) -> Action | Punt:
    missing = [key for key in ("name", "arguments") if key not in value]
    if missing:
        return punt("missing_field", f"the call has no {' and no '.join(missing)}")
    more = [key for key in value if key not in ("name", "arguments")]
    if more:
        return punt("hallucinated_field", f"the call has a field {more[0]!r} beside its arguments")
    try:
        return Action(value["name"], value["arguments"])
    except MalformedActionError as error:
        return punt("malformed", str(error))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    if not isfinite(number := float(digits)):
        raise ValueError(f"{digits[:40]} is beyond every number")
    return number


def _is_integer(checker: Any, value: Any) -> bool:  # noqa: ARG001
    # JSON Schema takes 1.0 for an integer; the hash of the final state tells it from 1.
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def _in_words(problem: ValidationError) -> str:
    path = ".".join(str(part) for part in problem.absolute_path)
    return f"{path}: {problem.message}" if path else problem.message
