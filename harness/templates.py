"""Texts with {placeholders}."""

import re
from collections.abc import Mapping
from typing import Any


def fill(template: str, **values: str) -> str:
    """Put each value in the place of its {name}, once: inserted text is not read again.

    Other braces stay as they are: JSON and code are common in prompts.
    """
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], template)


def fill_all(template: Any, **values: str) -> Any:
    """Fill every string of a JSON value; keys and other values stay as they are."""
    if isinstance(template, str):
        return fill(template, **values)
    if isinstance(template, Mapping):
        return {key: fill_all(item, **values) for key, item in template.items()}
    if isinstance(template, list):
        return [fill_all(item, **values) for item in template]
    return template
