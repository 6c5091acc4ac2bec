"""From a raw reply to the short span that is judged.

The answer stands behind the last ``FINAL:`` marker that is not quoted. Further rules read what
models do instead: a copied placeholder, a marker with nothing behind it, a box, bullets, a line
repeated until it is cut off, a thought block, a tool call in place of an answer. Markup inside the
line goes (``markup.py``).
"""

import re
from dataclasses import dataclass

from harness.thoughts import after_thoughts, opens_thought
from memtoc.scoring.markup import box_goes_on, boxed, undressed

# Only the tail of a runaway reply can hold the last marker; 128 new tokens are far shorter.
MAX_REPLY = 20_000

# "SEMIFINAL:" and "The finals:" are no markers; bold, headings, quoted blocks and a full-width
# colon are common around one.
_MARKER = re.compile(
    r"(?<!\w)[*_`]{0,3}FINAL(?: ANSWER)?[*_`]{0,3}[ \t]{0,4}[:：][*_`]{0,3}", re.IGNORECASE
)
_QUOTES = "\"'“”‘’„«»`"
# Models copy a placeholder that an instruction shows them (docs/log.md), and some write one of
# their own. "The Answer" and "Answer Me! (film)" are titles.
_PLACEHOLDER = re.compile(
    r"[\[<{(]\s*(?:the |your |insert |put |a |an |short |final |correct |best |actual |exact "
    r"|concise |single |my |here )*"
    r"(?:answer|response|guess|value|result|name|date|entity|text|span|output|\.{2,}|…)"
    r"(?: here| only| goes here| text| value)?\s*[\]>})]"
    r"|(?:insert |put )?your(?: (?:final|short|best|own))* (?:answer|guess|response)"
    r"(?: here| goes here)?\s*[.:]?(?=$|\n)"
    r"|answer here\b|_{2,}|\.{3,}|…",
    re.IGNORECASE,
)
# Calls as models write them into their text: Mistral's [TOOL_CALLS], Llama's <function=...>,
# <tool_call> tags, bare JSON.
_TOOL_CALL = re.compile(
    r"<\|?(?:tool_call|function_call|python_tag|function)\b|<function=|\[TOOL_CALLS\]"
    r"|\[?\s{0,8}\{\s{0,8}\"(?:name|function|type|tool|tool_name|action)\"\s{0,8}:"
    r"|```tool_(?:code|call)",
    re.IGNORECASE,
)
_SPECIAL = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:start|end)_of_turn>|<eos>|<pad>|\[/?INST\]", re.IGNORECASE
)
_FENCE = re.compile(r"[ \t]*```\w{0,20}[ \t]*")
# The answer "red, white, blue" as three bullets; "1912. A year" is none.
_BULLET = re.compile(r"[ \t]{0,8}(?:[-*•‣·]|\(?\d{1,2}[.)])[ \t]+(?=\S)")
_MOST_BULLETS = 20
# What stands below an answer and is none: "Source: Wikipedia", "[1] https://...".
_CITED = re.compile(
    r"[\s*_>#-]*(?:(?:sources?|references?|citations?)[*_]*\s*:|\[\^?\d{1,3}\]:?\s|https?://)",
    re.IGNORECASE,
)
# A "#" or ">" opens a heading or a quoted block in front of the answer; behind it they would be
# part of the answer.
_LEADING, _TRAILING = " \t\r*_`#>", " \t\r*_`"
# Enclosing marks by their opening; a single quote may also be an apostrophe or an ayn ('Adud
# al-Dawla), which closes nothing.
_PAIRS = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "[": "]", "<": ">", "{": "}"}


@dataclass(frozen=True)
class Span:
    """The extracted answer and the rule that found it; an empty text if there is none."""

    text: str
    rule: str


def extract(reply: str) -> Span:
    """Return the answer span of a raw reply, read from its last MAX_REPLY characters."""
    # Thoughts are looked for in all of it: the tail of a long one holds neither of its tags.
    body = _SPECIAL.sub(" ", after_thoughts(reply)[-MAX_REPLY:])
    if not body.strip():
        return Span("", "unclosed_thought" if opens_thought(reply) else "empty")
    markers = [match for match in _MARKER.finditer(body) if not _is_quoted(body, match)]
    span = _after_marker(body, markers) if markers else _without_marker(body)
    # A call in front of a marker gave way to the answer behind it.
    whole = "" if span.rule == "marker" else body.lstrip()
    if _TOOL_CALL.match(span.text) or _TOOL_CALL.match(whole):
        return Span("", "tool_call")
    return span


def _is_quoted(body: str, marker: re.Match[str]) -> bool:
    """Return whether a marker is only spoken of, as in: begin the line with "FINAL:".

    A line that is quoted as a whole is an answer.
    """
    before = body[marker.start() - 1 : marker.start()]
    text = marker.group()
    if text[0] == "`" and text[-1] == "`":
        return True
    if before not in tuple(_QUOTES):
        return False
    line_start = body.rfind("\n", 0, marker.start()) + 1
    rest = body[marker.end() : marker.end() + 400].split("\n", 1)[0]
    closes_at_once = rest.lstrip()[:1] in tuple(_QUOTES)
    return closes_at_once or bool(_trim(body[line_start : marker.start() - 1]))


def _after_marker(body: str, markers: list[re.Match[str]]) -> Span:
    ends = [marker.start() for marker in markers[1:]] + [len(body)]
    answers = [
        _unquoted(_behind(body[marker.end() : end]), body[: marker.start()][-1:])
        for marker, end in zip(markers, ends, strict=True)
    ]
    # From the last marker back: one with nothing behind it gives way to an earlier one.
    for i in range(len(markers) - 1, -1, -1):
        answer = answers[i]
        if answer and not _PLACEHOLDER.fullmatch(answer):
            # A loop is cut off in the middle of what it said before.
            whole = _longer(answer, answers[:i]) if i == len(markers) - 1 else ""
            return Span(whole, "repeated_marker") if whole else _clean(answer, "marker")
        if answer:
            return _beside_placeholder(body, markers[i], ends[i])
    before = _last_line(body[: markers[0].start()])
    return Span(before.text, "line_before_marker") if before.text else Span("", "empty_marker")


def _trim(line: str) -> str:
    """Return a line without white space and markdown around it."""
    return line.lstrip(_LEADING).rstrip(_TRAILING)


def _behind(text: str) -> str:
    """Return the answer behind a marker: its box, its bullets, or its first line with words."""
    lines = [line for line in text.split("\n") if not _FENCE.fullmatch(line)]
    for at, line in enumerate(lines):
        if first := _bare(line):
            if box_goes_on(line):
                return _bare(boxed(text) or "")
            listed = _bullets(lines[at:])
            return "; ".join(listed) if len(listed) > 1 else first
    return ""


def _bare(line: str) -> str:
    return _trim(undressed(line))


def _bullets(lines: list[str]) -> list[str]:
    """Return the items of the bullets that the lines open with; none if one is a sentence."""
    items: list[str] = []
    for line in lines:
        bullet = _BULLET.match(line)
        if not bullet or len(items) == _MOST_BULLETS:
            break
        items.append(_bare(line[bullet.end() :]))
    sentences = any(
        not item or len(item.split()) > 6 or item.endswith((".", ":")) for item in items
    )
    return [] if sentences else items


def _unquoted(answer: str, before: str) -> str:
    """Return the answer of a line that is quoted as a whole, without the closing quote."""
    closing = _PAIRS.get(before, "") if before else ""
    return answer.removesuffix(closing) if closing else answer


def _clean(answer: str, rule: str) -> Span:
    """Return the answer without a placeholder before it and quotes or brackets around it."""
    placeholder = _PLACEHOLDER.match(answer)
    if placeholder and answer[placeholder.end() :].strip(_TRAILING + ".-:"):
        return Span(answer[placeholder.end() :].strip(_TRAILING + "-:"), "after_placeholder")
    closing = _PAIRS.get(answer[0])
    if closing and len(answer) > 2 and answer.rstrip(".").endswith(closing):
        inner = answer.rstrip(".")[1:-1].strip()
        # "The "Big" One" keeps its inner quotes.
        if inner and closing not in inner and answer[0] not in inner:
            return Span(inner, rule)
    return Span(answer, rule)


def _beside_placeholder(body: str, marker: re.Match[str], end: int) -> Span:
    lines = [_bare(line) for line in body[marker.end() : end].split("\n")]
    behind = [line for line in lines if line and not _PLACEHOLDER.fullmatch(line)]
    if behind:
        return Span(behind[0], "after_placeholder")
    before = _last_line(_MARKER.sub("\n", body[: marker.start()]))
    if before.text and not _PLACEHOLDER.fullmatch(before.text):
        return Span(before.text, "line_before_placeholder")
    return Span("", "placeholder")


def _without_marker(body: str) -> Span:
    """Return the answer of a body without a marker: its last box, else its last line."""
    box = boxed(body)
    text = _bare(box) if box else ""
    return Span(text, "boxed") if text else _last_line(body)


def _last_line(body: str) -> Span:
    shown = [line for line in body.splitlines() if _trim(line) and not _FENCE.fullmatch(line)]
    lines = [_trim(line) for line in shown]
    # From the last line back, past delimiters and the sources below an answer.
    at = len(lines) - 1
    while at > 0 and (_CITED.match(lines[at]) or not _bare(shown[at])):
        at -= 1
    if not lines:
        return Span("", "empty")
    whole = _longer(lines[at], lines[:at])
    if whole:
        return Span(_bare(whole), "repeated_line")
    listed = _bullets_above(shown[: at + 1])
    return Span("; ".join(listed), "bullets") if listed else Span(_bare(shown[at]), "last_line")


def _bullets_above(lines: list[str]) -> list[str]:
    """Return the items of the bullets that the lines end with, two or more; else none."""
    first = len(lines)
    while first > 0 and len(lines) - first < _MOST_BULLETS and _BULLET.match(lines[first - 1]):
        first -= 1
    listed = _bullets(lines[first:])
    return listed if len(listed) > 1 else []


def _longer(line: str, earlier: list[str]) -> str:
    """Return the earlier line that ``line`` repeats and leaves unfinished; empty if none."""
    return next((e for e in reversed(earlier) if len(e) > len(line) and e.startswith(line)), "")
