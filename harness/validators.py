"""What settings that are texts may hold."""

import re
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError


def _named(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text):
        raise PydanticCustomError(
            "name", "a name is a letter or digit, then at most 63 letters, digits, dots, - and _"
        )
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "it is empty: write a text")
    return text


# A name stands in folders' names, in tables and in W&B.
Name = Annotated[str, AfterValidator(_named)]
Filled = Annotated[str, AfterValidator(_filled)]


def holding(placeholder: str) -> AfterValidator:
    """Return the check of a template that is of no use without ``{placeholder}``."""

    def held(text: str) -> str:
        if f"{{{placeholder}}}" not in text:
            words = "the text has no {name}: write it where the model is to see that"
            raise PydanticCustomError("template", words, {"name": f"{{{placeholder}}}"})
        return text

    return AfterValidator(held)
