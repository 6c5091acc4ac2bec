"""Does a server show its model the tools, the calls and their answers?

Its chat template is out of sight, and one that knows no tools drops them without a word. What it
cannot hide is the length of the prompt: each part is made longer by words, one at a time, and the
count of the prompt's tokens has to grow.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.completions import Completion, Decoding, Message, Request, ToolCall
from harness.errors import RunFailedError, UserError

PARTS = ("the tools' schemas", "a call's arguments", "a tool's answer")
LONG = " ".join(["river", "window", "seven", "garden", "paper", "orange", "north", "silver"] * 6)
LEAST = 24  # tokens: half of the words


def audit_served_tools(
    complete: Callable[[Request], Completion], model: str, decoding: Decoding, remedy: str
) -> None:
    """Raises UserError where a part leaves the prompt as long as it was.

    Raises RunFailedError where the server gives no answer, or counts no tokens.
    """
    brief = replace(decoding, max_new_tokens=16)
    short = _tokens(complete(probe(brief, {})), remedy)
    for part in PARTS:
        if _tokens(complete(probe(brief, {part: LONG})), remedy) - short < LEAST:
            raise UserError(
                f"model '{model}': its server does not show it {part}: {remedy}, or a server whose"
                " chat template knows tools"
            )


def probe(decoding: Decoding, said: Mapping[str, str]) -> Request:
    """A dialogue with a call and its answer, some part of which says more."""
    schemas, arguments, answer = (said.get(part, "yes") for part in PARTS)
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}}
    function = {"name": "look_up", "description": schemas, "parameters": parameters}
    call = ToolCall("look_up", json.dumps({"word": arguments}))
    return Request(
        (
            Message("system", "Answer with one word."),
            Message("user", "Is it there?"),
            Message("assistant", "", call),
            Message("tool", answer),
        ),
        decoding,
        tools=(json.dumps({"type": "function", "function": function}),),
    )


def _tokens(completion: Completion, remedy: str) -> int:
    if completion.finish == "error":
        raise RunFailedError(f"asked whether it shows tools, the server fails: {completion.error}")
    if not completion.prompt_tokens:
        raise RunFailedError(
            "the server counts no prompt tokens, by which it is seen whether its model is shown"
            f" tools: {remedy}"
        )
    return completion.prompt_tokens
