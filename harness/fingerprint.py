"""The identity of a run: its settings, and the digests of the data and weights that they name.

A settings class marks what decides no result; everything else is identity::

    @dataclass(frozen=True)
    class ArmSettings:
        seed: int
        paths: Annotated[Paths, COSMETIC]
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from harness.hashing import digest_of


class Cosmetic:
    """Marks a field of a settings class, as in ``Annotated[Paths, COSMETIC]``.

    A cosmetic setting changes where a run is done or how it is shown; its results stay the same.
    Every other setting is part of the run's identity, and so is every key added later.
    """


COSMETIC = Cosmetic()
# Part of every fingerprint. Format 2 of the manifests came with it: folders of format 1 keep other
# names, so that a run of this version neither reads nor refuses them.
VERSION = 2


@cache
def cosmetic_keys(settings: type) -> frozenset[str]:
    """Return the dotted keys that a settings class and the classes of its fields mark as cosmetic.

    A key stands for everything under it. For a field with a union type, the keys of all its members
    are returned.
    """
    return frozenset(_cosmetic(settings, ""))


def _cosmetic(settings: type, prefix: str) -> Iterator[str]:
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        key = f"{prefix}{field.name}"
        if any(isinstance(mark, Cosmetic) for mark in _marks(hints[field.name])):
            yield key
        else:
            for part in _dataclasses(hints[field.name]):
                yield from _cosmetic(part, f"{key}.")


def _marks(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _dataclasses(hint: Any) -> Iterator[type]:
    """Yield the dataclasses in a type: itself, the members of a union, what Annotated wraps."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    elif get_origin(hint) is Annotated:
        yield from _dataclasses(get_args(hint)[0])
    else:
        for member in get_args(hint):
            yield from _dataclasses(member)


def is_cosmetic(key: str, cosmetic: Collection[str]) -> bool:
    """Return whether a dotted key, or a key above it, is among the cosmetic ones."""
    parts = key.split(".")
    return any(".".join(parts[: length + 1]) in cosmetic for length in range(len(parts)))


def leaves(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with their values; lists and empty mappings are leaves."""
    for name, value in config.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{key}.")
        else:
            yield key, value


def identity(config: Mapping[str, Any], cosmetic: Collection[str]) -> dict[str, Any]:
    """Return the leaves of a config that are not cosmetic."""
    return {key: value for key, value in leaves(config) if not is_cosmetic(key, cosmetic)}


def fingerprint(
    config: Mapping[str, Any], cosmetic: Collection[str], digests: Mapping[str, str | None]
) -> str:
    """Return the sha256 (hex) of a config's identity and of the digests of what it names.

    ``digests`` holds weights, benchmark, adapter and the like under fixed names.
    """
    settings = identity(config, cosmetic)
    return digest_of({"version": VERSION, "settings": settings, "digests": dict(digests)})
