"""How servers say that a prompt is longer than their model's context.

Each has words of its own, and they change with its versions: tests/harness/engines/test_refusals.py
has some hundred. An error may also quote the prompt, which may say anything, so only the beginning
of a message decides.
"""

import re
from collections.abc import Sequence

MAX_BEFORE_PROMPT = 200  # characters of a message that decide its kind
BLAMES_REQUEST = (400, 413, 422)  # statuses

# A limit on tokens, and a word that says that it is passed.
_LIMIT = (
    r"(?:context[ _-](?:length|window|size|limit)"
    r"|max(?:imum)?[ _](?:(?:allowed|supported|configured|total|model|model's)[ _])*"
    r"(?:context|input|prompt|sequence|seq|model|num|total|allowed|request|completion context)"
    r"[ _](?:length|len|tokens?|size|limit)"
    r"|max(?:imum)?[ _](?:number of (?:input |prompt |total )?tokens|length)"
    r"|(?:model |input |prompt )?token[ _](?:limit|count)|number of (?:input |prompt )?tokens"
    r"|(?:input|prompt|sequence)[ _]length|model's context|n_ctx|session_len)"
)
_PASSED = (
    r"(?:exceed|(?:long|larg|great|bigg|high)er than|more than|over the\b|too (?:long|large|big)\b"
    r"|too many (?:input |prompt |context )?tokens|overflow|beyond|less than or equal|is full"
    r"|must be (?:less|at most|smaller|shorter|<)|does ?n[o']t fit|not enough|reduce |\d ?> ?\d)"
)
# What is too long, where no limit is named: "messages too long: 9000 tokens".
_PROMPT = (
    r"\b(?:prompts?|inputs?|messages?|conversation|dialog(?:ue)?|sequence|context|history"
    r"|tokens? in (?:the )?request|(?:total|requested|number of)(?: input| prompt)? tokens?)\b"
)
_UNIT = r"(?:tokens?\b|\bcontext|window|length|\blong|for (?:the|this) model)"
_PASSES = re.compile(
    f"{_LIMIT}.{{0,100}}?{_PASSED}|{_PASSED}.{{0,100}}?{_LIMIT}"
    f"|(?=.*?{_UNIT}){_PROMPT}.{{0,60}}?{_PASSED}|(?:^|input |prompt )too many (?:input )?tokens",
    re.IGNORECASE,
)
# Sentences of servers that say it by themselves: "Prompt is 11543 tokens but the model context
# window is 4096 tokens", "too large for model with 32768 maximum context length".
_STATED = re.compile(
    r"(?:context[ _](?:length|window|size|limit)|maximum (?:prompt|input|model) length"
    r"|max_(?:model|seq|input)\w*_len(?:gth)?)(?: (?:is|of)|:|=)? ?(?:only |limited to )?\(?\d"
    r"|\d (?:tokens? )?maximum context length|\d tokens? of context"
    r"|token count.{0,30} exceeds the limit of \d"
    r"|input length should be \["
    r"|inputs`? (?:must have less than \d|tokens \+ `?max_new_tokens`? must be)"
    # The room that is left for the reply, once the prompt has taken more than all of it.
    r"|max(?:_completion)?_tokens (?:must be at least 1, got -|\(-)\d"
    r"|cannot truncate to \d+, required \d",
    re.IGNORECASE,
)
_WITHOUT_FIGURES = re.compile(
    r"request exceeds the available context size"
    r"|context (?:size|length|window) (?:has been |was |is )?exceeded|context[ _-]?overflow"
    r"|exceed(?:s|ed)? (?:the )?(?:model's )?(?:context (?:window|length|size|limit)\b"
    r"|maximum number of (?:input )?tokens|(?:model )?token limit)"
    r"|exceeded (?:max(?:imum)? )?context length"
    r"|context window exceeds limit"
    r"|greater than the context length"
    r"|ran out of (?:room|space) in the .{0,20}context"
    r"|(?:prompt|inputs?|conversation)\b.{0,40}? (?:is|are) too (?:long|large|big)"
    r"|^(?:the |your )?(?:prompt|input|conversation|messages?) too (?:long|large|big)"
    r"|tokens? in request more than max"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|messages?\b.{0,40}string too long"
    r"|(?:\u4e0a\u4e0b\u6587|\u8f93\u5165|\u63d0\u793a).{0,20}(?:\u8fc7\u957f|\u8d85)"
    r"|\u8d85[\u8fc7\u51fa].{0,20}(?:\u4e0a\u4e0b\u6587|\u6700\u5927.{0,6}\u957f\u5ea6)",
    re.IGNORECASE,
)
_CODES = frozenset(
    {
        "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded",
        "exceed_context_size_error", "contextwindowexceedederror", "tokens_limit_reached",
        "request_too_large", "prompt_too_long", "input_too_long", "context_too_long",
    }
)  # fmt: skip
# That a limit is stated about this request: a server that loads its model may state it as well.
_ASKED = re.compile(
    r"\b(?:prompts?|inputs?|request(?:s|ed)?|messages?|you|your|keep)\b"
    r"|\bis (?:only |limited to )?[\d,.]+k? tokens",
    re.IGNORECASE,
)
# Without any figure, and believed only with a status that blames the request.
_HINTED = re.compile(
    r"context_length_exceeded|exceed_context_size|exceeds the available context"
    r"|maximum context length|maximum model length|model's context length",
    re.IGNORECASE,
)
# Another limit: on tokens over time or of the reply, of memory or patience, or on a text that is no
# prompt (a tool's name, a stop).
_OTHER = re.compile(
    r"rate.?limit|per (?:second|minute|hour|day)|too many requests|throttl|quota|\bt[pk]?[md]\b"
    r"|please wait|try again (?:later|in )|timed? ?out|took longer|overloaded|out of memory|queue"
    r"|\b(?:images?|audio)\b"
    r"|invalid '?(?:tools|functions|stop|user|metadata|response_format)|\bstop (?:seq|str|word)"
    r"|completion tokens, whereas|window too small",
    re.IGNORECASE,
)


def is_too_long(status: int, words: Sequence[str]) -> bool:
    """Return whether an error says that the prompt is longer than the model's context.

    ``words`` are its message, code and type. A status that blames the request needs a hint. Any
    other needs a sentence that says it by itself, or figures: llama.cpp answers 500, but other
    errors of status 500 may quote a prompt that speaks of contexts.
    """
    said = [" ".join(word.split())[:MAX_BEFORE_PROMPT] for word in words]
    if any(_OTHER.search(word) for word in said):
        return False
    if any(word.lower() in _CODES for word in said) or any(map(_WITHOUT_FIGURES.search, said)):
        return True
    if status in BLAMES_REQUEST:
        return any(_STATED.search(w) or _PASSES.search(w) or _HINTED.search(w) for w in said)
    return any(
        (_STATED.search(w) and _ASKED.search(w)) or (_PASSES.search(w) and re.search(r"\d", w))
        for w in said
    )
