"""The argument to type for a text that Hydra's grammar or the shell would take apart.

A folder called ``epoch=3`` holds one of Hydra's own signs, so that the whole is typed as::

    'benchmark.path="runs/epoch=3/my.csv"'
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

# A key as Hydra reads it (with + or ++ to add one, @ for a package), and the text behind it.
_SETTING = re.compile(r"([+]{0,2}[A-Za-z_][\w.@/:-]*)=(.*)", re.DOTALL)
# What a shell's double quotes leave alone, so that an apostrophe can be written as it is.
_PLAIN_IN_DOUBLE_QUOTES = re.compile(r"[^$`!\\]*")


def argument(key: str, value: str) -> str:
    """Return ``key=value``, quoted for Hydra and then for a POSIX shell, as one word to type."""
    return _for_shell(f"{key}={_for_hydra(value)}")


def retyped(override: str, sweeps: bool = False) -> str | None:
    """Return the argument to type in the place of one that Hydra cannot read.

    A list is quoted element by element; under ``-m`` (``sweeps``) so are texts between commas.
    None where there is no key, or where quotes are no remedy.
    """
    found = _SETTING.fullmatch(override)
    if found is None:
        return None
    key, value = found[1], found[2].strip()
    if value.startswith("~/"):
        # The shell turns ~ into the home folder at the start of a word alone, and Hydra never.
        value = str(Path.home()) + value[1:]
    if value.startswith("[") and value.endswith("]"):
        quoted = f"[{','.join(_elements(value[1:-1]))}]"
    elif sweeps and "," in value:
        quoted = ",".join(_elements(value))
    elif value.startswith(('"', "'")) or re.match(r"\[[^]]*$|\{[^}]*$", value):
        return None  # a quote or a bracket that was opened and not closed
    else:
        quoted = _for_hydra(value)
    return _for_shell(f"{key}={quoted}") if _readable(f"{key}={quoted}") else None


def given_as(key: str, arguments: Sequence[str]) -> str | None:
    """Return the argument to type so that what ``arguments`` give for ``key`` is read as a text.

    For a folder called 2024, a number to Hydra. None where the arguments give nothing for it.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    texts = [word for word in arguments if word.startswith(f"{key}=") and _readable(word)]
    if not texts:
        return None
    value = OverridesParser.create().parse_override(texts[-1]).value()
    # The text as it was typed: of 1e3 Hydra makes 1000.0.
    return argument(key, value if isinstance(value, str) else texts[-1].partition("=")[2])


def split_text(arguments: Sequence[str], stray: str) -> str | None:
    """Return the argument to type where a shell cut a text at its spaces and ``stray`` is a part.

    ``benchmark.path=my file.csv`` reaches a program as two arguments.
    """
    if stray not in arguments or _SETTING.fullmatch(stray):
        return None
    at = arguments.index(stray)
    start = next((n for n in range(at, -1, -1) if _SETTING.fullmatch(arguments[n])), None)
    if start is None or any(word.startswith("-") for word in arguments[start:at]):
        return None
    end = at
    while end + 1 < len(arguments) and not re.match(r"[-~]|.*=", arguments[end + 1]):
        end += 1
    return retyped(" ".join(arguments[start : end + 1]))


def _elements(values: str) -> list[str]:
    parts = [part.strip() for part in values.split(",")]
    return [part if _readable(f"k={part}") else _for_hydra(part) for part in parts]


def _for_hydra(value: str) -> str:
    """Return a quoted value of Hydra's grammar; ``${`` is kept from being an interpolation."""
    # Hydra reads a backslash as itself, except in front of a quote and at the end.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', value)
    escaped = re.sub(r"(\\+)$", r"\1\1", escaped)
    return '"' + escaped.replace("${", "\\${") + '"'


def _for_shell(text: str) -> str:
    if "'" in text and _PLAIN_IN_DOUBLE_QUOTES.fullmatch(text.replace('\\"', "")):
        doubled = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{doubled}"'
    return shlex.quote(text)


def _readable(override: str) -> bool:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        OverridesParser.create().parse_override(override)
    except HydraException:
        return False
    return True
