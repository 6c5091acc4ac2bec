"""What Hydra says of a wrong key, option or value, in one line with the nearest valid name."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.errors import NEAR, one_of

CONF = Path(__file__).parent.parent / "conf"


def config_of(arguments: Sequence[str], default: str) -> str:
    """The config that a command line names, or else the entry point's own."""
    for at, argument in enumerate(arguments):
        flag, equals, name = argument.partition("=")
        if flag in ("--config-name", "-cn"):
            return name if equals else next(iter(arguments[at + 1 :]), default)
    return default


def explain(error: Exception, config_name: str) -> str:
    """The line for an error of Hydra or OmegaConf."""
    from hydra.errors import OverrideParseException

    text = str(error)
    option = re.search(r"Could not find '([^']+)/([^'/]*)'", text)
    if option:
        return _option(*option.groups())
    primary = re.search(r"Cannot find primary config '([^']+)'", text)
    if primary:
        return f"--config-name={primary[1]}: no such config: {one_of(_primaries(), primary[1])}"
    key = re.search(r"Could not override '([^']+)'", text) or re.search(r"full_key: (\S+)", text)
    if key:
        return _key(key[1], config_name)
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    if isinstance(error, OverrideParseException):
        return f"{first} (lists are written 'key=[a,b]', texts with spaces in quotes)"
    if "Sweep parameters" in first or "Ambiguous value" in first:
        return f"{first}: add -m to sweep, or write a list as 'key=[a,b]'"
    return first


def _option(group: str, name: str) -> str:
    if group == "hydra/launcher":
        return f"{group}={name}: not installed: pip install -r requirements-cluster.txt"
    if not group.startswith("hydra"):  # experiment/memtoc is a folder of the group experiment
        group, _, folder = group.partition("/")
        name = f"{folder}/{name}" if folder else name
    return f"{group}={name}: no such option: {one_of(_options(group) or ['(none)'], name)}"


def _key(name: str, config_name: str) -> str:
    """The hint for a dotted key: the nearest one beside the first part of it that is not there.

    Also looked at are the other options of its group: only planner=llm has a planner.model. The
    package of ``group@package`` is such a key too.
    """
    at, _, path = name.rpartition("@")
    choices = [choice for choice in _choices(sys.argv[1:]) if not choice.startswith(f"{name}=")]
    keys = _keys(config_name, choices)
    parent, _, wrong = _first_missing(path, keys).rpartition(".")
    beside, near = _names_in(parent, keys), ""
    group = parent.partition(".")[0]
    options = [f"{group}={option}" for option in _options(group)]
    if options and not _nearest(wrong, beside):
        found = {o: _nearest(wrong, _names_in(parent, _keys(config_name, [o]))) for o in options}
        near = next((f"{key}' of {o}?" for o, key in found.items() if key), "")
    prefix = (f"{at}@" if at else "") + (f"{parent}." if parent else "")
    hint = f"did you mean '{prefix}{near}" if near else one_of(beside, wrong, prefix)
    return f"{name}: no such setting: {hint}"


def _nearest(name: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, names, n=1, cutoff=NEAR)), "")


def _first_missing(path: str, keys: Collection[str]) -> str:
    parts = path.split(".")
    starts = [".".join(parts[: length + 1]) for length in range(len(parts))]
    return next((start for start in starts if start not in keys), path)


def _names_in(parent: str, keys: Iterable[str]) -> list[str]:
    split = [key.rpartition(".") for key in keys]
    return [name for place, _, name in split if place == parent]


def _choices(arguments: Sequence[str]) -> list[str]:
    """Of a command line, what chooses an option of a group; the first where several are swept."""
    choices = []
    for argument in arguments:
        place, equals, options = argument.partition("=")
        option = options.split(",")[0]
        group = place.partition("@")[0]
        if equals and option in _options(group):
            choices.append(f"{place}={option}")
    return choices


def _options(group: str) -> Sequence[str]:
    folder = CONF / group
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.yaml"))


def _primaries() -> list[str]:
    return [path.stem for path in CONF.glob("*.yaml")]


def _keys(config_name: str, choices: Sequence[str]) -> set[str]:
    """Every key, branches too, of a config with these options; without them where they clash."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    running = GlobalHydra.instance().hydra  # inside of a sweep: put back below
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            try:
                composed = compose(config_name, list(choices))
            except HydraException:
                composed = compose(config_name)
    finally:
        GlobalHydra.instance().hydra = running
    plain = OmegaConf.to_container(composed)
    assert isinstance(plain, dict)
    return set(_branches({str(key): value for key, value in plain.items()}))


def _branches(container: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in container.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _branches(value, f"{prefix}{name}.")
