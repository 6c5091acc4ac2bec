"""The blocks in which reasoning models write their thoughts, ``<think>...</think>`` and its like.

Templates may open a block in the prompt, and a limit may cut it off: a text can hold the closing
tag alone, or the opening one.
"""

import re

TAG = "(?:think|thinking|thought|reasoning)>"
_MARK = re.compile(f"<(/?){TAG}", re.IGNORECASE)  # group 1 is "/" where a thought ends
_OPENS = re.compile(f"<{TAG}", re.IGNORECASE)
_CLOSES = re.compile(f"</{TAG}", re.IGNORECASE)
_UNOPENED = re.compile(rf"\A(?:(?!<{TAG}).)*?</{TAG}", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(rf"{_UNOPENED.pattern}|<{TAG}.*?(?:</{TAG}|\Z)", re.DOTALL | re.IGNORECASE)


def opens_thought(text: str) -> bool:
    """Return whether a thought begins anywhere in the text."""
    return bool(_OPENS.search(text))


def thought_is_open(text: str) -> bool:
    """Return whether the text ends inside of a thought."""
    marks = _MARK.findall(text)
    return bool(marks) and not marks[-1]


def closes_unopened(text: str) -> bool:
    """Return whether a thought ends in the text that began before it, in the prompt."""
    first = _MARK.search(text)
    return bool(first and first[1])


def without_unopened(text: str) -> str:
    """Return the text without the thought that began before it; thoughts with both tags stay.

    For models that are not declared to think: their chat template may open a thought all the same.
    """
    return _UNOPENED.sub("", text).lstrip() if closes_unopened(text) else text


def without_thoughts(text: str) -> str:
    """Return the text without its thoughts, closed or not; what stands between two is kept."""
    return _BLOCK.sub("", text).strip()


def after_thoughts(text: str) -> str:
    """Return what follows the last closed thought, up to one that is left open.

    For the answer of a reply: what stands before or between thoughts is a draft of it.
    """
    closed = list(_CLOSES.finditer(text))
    rest = text[closed[-1].end() :] if closed else text
    opened = _OPENS.search(rest)
    return rest[: opened.start()] if opened else rest
