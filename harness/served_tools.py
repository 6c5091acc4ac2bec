"""Check that a server shows its model the tools, the calls and their answers.

A server's chat template cannot be read from here, and one without tools drops them silently. But
the server reports the length of the prompt: each part is made 48 words longer, one at a time, and
the count of prompt tokens has to grow.
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
    """Send four short requests; raise UserError for the first part that the model is not shown.

    Raises RunFailedError if the server fails or reports no prompt tokens.
    """
    brief = replace(decoding, max_new_tokens=16)
    short = _tokens(complete(probe(brief, {})), remedy)
    for part in PARTS:
        if _tokens(complete(probe(brief, {part: LONG})), remedy) - short < LEAST:
            raise UserError(
                f"model '{model}': its server does not show it {part}: {remedy}, or a server whose"
                " chat template knows tools"
            )


def probe(decoding: Decoding, texts: Mapping[str, str]) -> Request:
    """Return a dialogue with a call and its answer; ``texts`` fills `PARTS`, "yes" the others."""
    schemas, arguments, answer = (texts.get(part, "yes") for part in PARTS)
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
