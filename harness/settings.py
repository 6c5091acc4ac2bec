"""From a composed Hydra config to frozen dataclasses, with errors that a user can act on.

`resolve` makes a plain dict, `parse` a settings class of it::

    parse(ArmSettings, resolve(config))  # UserError: limit='many' does not fit: input should be ...
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from math import isfinite
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, MissingMandatoryValue, OmegaConfBaseException
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from harness.errors import UserError, one_of
from harness.fingerprint import leaves
from harness.quoting import given_as

Settings = TypeVar("Settings")

# Errors of pydantic about a key that the dataclass lacks.
UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
STRICT = ConfigDict(strict=True, extra="forbid")


def resolve(config: DictConfig) -> dict[str, Any]:
    """Return a plain config with every interpolation resolved.

    Raises UserError for a missing value, an interpolation that leads nowhere, NaN and infinities.
    """
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise UserError(_no_value(str(error.full_key))) from error
    except InterpolationKeyError as error:
        typed = given_as(str(error.full_key), sys.argv)
        text = f", or as a text type {typed}" if typed else ""
        raise UserError(
            f"{error.full_key} refers to a key that is not there: set it{text}"
        ) from error
    except OmegaConfBaseException as error:
        raise UserError(f"config: {str(error).splitlines()[0]}") from error
    assert isinstance(plain, dict)
    named = {str(key): value for key, value in plain.items()}
    for key, value in leaves(named):
        if isinstance(value, float) and not isfinite(value):
            raise UserError(f"{key}={value} is no number that can be used: give a finite one")
    return named


def need_parts(config: Mapping[str, Any], parts: Mapping[str, Sequence[str]]) -> None:
    """Raise UserError unless ``config`` has each group of ``parts``, with the keys listed for it.

    For a plan that reads some keys before `parse` checks the whole.
    """
    for group, keys in parts.items():
        if group not in config:
            raise UserError(_no_value(group))
        part = config[group]
        if not isinstance(part, Mapping):
            raise UserError(f"{group}={part!r} is not one of its options: see --help")
        for key in keys:
            if key not in part:
                raise UserError(_no_value(f"{group}.{key}"))


def _no_value(key: str) -> str:
    return f"{key} has no value: set it, as in {key}=..."


def strict_adapter(shape: type[Settings]) -> TypeAdapter[Settings]:
    """Return pydantic's reader of a type: it takes no text for a number and no unknown key."""
    adapter: TypeAdapter[Settings] = _strict_adapter(shape)  # type: ignore[arg-type]
    return adapter


@cache
def _strict_adapter(shape: type[Any]) -> TypeAdapter[Any]:
    """Cached, since building one takes tens of milliseconds."""
    if is_dataclass(shape):  # pydantic takes a dataclass's strictness from the class alone
        return TypeAdapter(with_config(STRICT)(shape))
    return TypeAdapter(shape, config=STRICT)


def parse(settings: type[Settings], config: Mapping[str, Any]) -> Settings:
    """Return a frozen dataclass, with those nested in it, built from a plain config.

    Strict: "3" is a text and no number. Raises UserError naming the first wrong key.
    """
    try:
        # By way of JSON: in strict mode pydantic fills a dataclass or a tuple from a JSON object or
        # array, and refuses a Python dict or list.
        return strict_adapter(settings).validate_json(json.dumps(dict(config)))
    except ValidationError as error:
        raise UserError(_explain(error, config)) from error


def _explain(error: ValidationError, config: Mapping[str, Any]) -> str:
    errors = error.errors(include_url=False)
    first = errors[0]
    if first["type"] == "json_invalid":  # a number that JSON has not, half a character
        return f"the config cannot be written as JSON: {first['msg']}: mend the text or number"
    key = _key(first["loc"], config, first["type"] in ("missing", *UNKNOWN))
    given = first["input"]
    if first["type"] == "missing":
        return _no_value(key)
    if first["type"] in UNKNOWN:
        return _unknown(key, config)
    if first["type"] in ("tuple_type", "list_type") and isinstance(given, str):
        return f"{key}={given} is a text where a list is needed: write '{key}=[{given}]'"
    typed = given_as(key, sys.argv) if first["type"] == "string_type" else None
    if typed and isinstance(given, bool | int | float):
        return f"{key}={given!r} does not fit: a text is needed: type {typed}"
    # A union has an error for each of its members.
    reasons = dict.fromkeys(e["msg"] for e in errors if _key(e["loc"], config) == key)
    # Sweep dashboards write Python's None; to YAML that is a text.
    null = ", or null for none" if isinstance(given, str) and given.lower() == "none" else ""
    told = " or ".join(reason[0].lower() + reason[1:] for reason in reasons)
    return f"{key}={given!r} does not fit: {told}{null}"


def _unknown(key: str, config: Mapping[str, Any]) -> str:
    """Return the line for a key that was added, with the nearest of those beside it."""
    place, _, wrong = key.rpartition(".")
    beside: Any = config
    for part in place.split(".") if place else ():
        beside = beside[int(part) if isinstance(beside, list) else part]
    near = one_of([name for name in beside if name != wrong], wrong, f"{place}." if place else "")
    meant = f"{near} R" if near.startswith("did you mean") else "r"
    return f"{key} is not a setting: {meant}emove it where +{key} or a file under conf/ sets it"


def _key(location: tuple[int | str, ...], config: Any, absent: bool = False) -> str:
    """Return the dotted key of an error; ``absent`` says that the config lacks its last part."""
    # Among the keys pydantic also lists the tags of unions, e.g. ("engine", "hf", "dtype").
    parts = []
    for part in location:
        inside = isinstance(config, Mapping) and part in config
        if inside or isinstance(part, int) or (absent and part == location[-1]):
            parts.append(str(part))
            config = config[part] if inside else None
    return ".".join(parts)
