"""What Hydra says of a wrong key, option or value, in one line with the nearest valid name."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from harness.errors import NEAR, one_of

CONF = Path(__file__).parent.parent / "conf"
# What installs the launchers that Hydra's makers and others offer.
LAUNCHERS = {
    "submitit_local": "-r requirements-cluster.txt",
    "submitit_slurm": "-r requirements-cluster.txt",
    "ray": "-r requirements-cluster.txt",
    "joblib": "hydra-joblib-launcher",
    "rq": "hydra-rq-launcher",
}
MIXED = "a list stands where settings by name are needed, or the other way round"


def explain(error: Exception, config_name: str) -> str:
    """The line for an error of Hydra or OmegaConf."""
    text = str(error)
    option = re.search(r"Could not find '([^']+)/([^'/]*)'", text)
    if option:
        return _option(option[1], option[2], re.findall(r"^\t(\S+)$", text, re.MULTILINE))
    inner = re.search(r"full_key: (\S+)", f"{text}\n{error.__cause__}")
    merging = re.match(r"Error merging override (.+)", text)
    if merging:
        wanted = _wanted(str(error.__cause__ or text), inner[1] if inner else "key")
        return f"{merging[1]} does not fit: {wanted}"
    file = re.match(r"In '([^']+)': .+ while composing config:\n(.*)", text)
    if file:  # of lists OmegaConf does not say at which key
        said = MIXED if file[2].startswith("Cannot merge") else file[2]
        return f"{file[1]}.yaml (under conf/ or --config-dir): {said}"
    key = re.search(r"Could not override '([^']+)'|from config. '([^']+)' does not exist", text)
    if key or inner:
        given = (key[1] or key[2]) if key else ""
        return _key(_longer(given, inner[1] if inner else ""), config_name)
    return _first_line(error)


def _first_line(error: Exception) -> str:
    """What Hydra itself says, with what to do where that is known."""
    from hydra.errors import OverrideParseException

    lines = [line for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    if isinstance(error, OverrideParseException):
        return f"{first} (lists are written 'key=[a,b]', texts with spaces in quotes)"
    if "Sweep parameters" in first or "Ambiguous value" in first:
        return f"{first}: add -m to sweep, or write a list as 'key=[a,b]'"
    if first.startswith(("Could not append to config", "Multiple values for")):
        return f"{first.partition('. To')[0].rstrip('.')}: leave out the +"
    return first


def _longer(key: str, inner: str) -> str:
    """The key inside of what was given, as frame.value.a of 'frame.value={a: 1}'."""
    return inner if inner.startswith(f"{key}.") or not key else key


def _wanted(said: str, key: str) -> str:
    """What kind of value a key takes, from what OmegaConf said of one that it does not take."""
    first = said.partition("\n")[0]
    present = re.search(r"object_type=(list|dict)$", said, re.MULTILINE)
    if not first.startswith("Cannot merge") or not present:
        return first[:1].lower() + first[1:]
    if present[1] == "list":
        return f"a list is needed, as in '{key}=[a,b]'"
    return f"settings by name are needed, set one by one, as in {key}.name=value"


def _option(group: str, name: str, offered: Sequence[str]) -> str:
    """``offered`` are the options that Hydra found."""
    if group == "hydra/launcher" and name in LAUNCHERS:
        return f"{group}={name}: not installed: pip install {LAUNCHERS[name]}"
    if group.startswith("hydra"):
        known = {*offered, *LAUNCHERS} if group == "hydra/launcher" else offered
        return f"{group}={name}: no such option: {one_of(known or ['(none)'], name)}"
    group, _, folder = group.partition("/")  # experiment/memtoc is a folder of the group experiment
    name = f"{folder}/{name}" if folder else name
    return f"{group}={name}: no such option: {one_of(_options(group) or ['(none)'], name)}"


def _key(name: str, config_name: str) -> str:
    """The hint for a dotted key: the nearest one beside the first part of it that is not there.

    Also looked at are the other options of its group: only planner=llm has a planner.model. The
    package of ``group@package`` is such a key too. A key of another config gets that one's name.
    """
    at, _, path = name.rpartition("@")
    choices = [choice for choice in _choices(sys.argv[1:]) if not choice.startswith(f"{name}=")]
    keys = _keys(config_name, choices)
    parent, _, wrong = _first_missing(path, keys).rpartition(".")
    others = [] if parent else _configs_with(wrong)
    if others:
        return f"{name}: no such setting here: '{wrong}' belongs to {' and to '.join(others)}"
    beside, near = [key for key in _names_in(parent, keys) if key != "hydra"], ""
    if not beside:
        return f"{name}: no such setting: {parent} is one value: write {parent}=..."
    group = parent.partition(".")[0]
    options = [f"{group}={option}" for option in _options(group)]
    if options and not _nearest(wrong, beside):
        found = {o: _nearest(wrong, _names_in(parent, _keys(config_name, [o]))) for o in options}
        near = next((f"{key}' of {o}?" for o, key in found.items() if key), "")
    prefix = (f"{at}@" if at else "") + (f"{parent}." if parent else "")
    hint = f"did you mean '{prefix}{near}" if near else one_of(beside, wrong, prefix)
    return f"{name}: no such setting: {hint}"


def _configs_with(name: str) -> list[str]:
    """How one asks for the configs that themselves have a group or key, as their help begins."""
    found = []
    for primary in _primaries():
        content = yaml.safe_load((CONF / f"{primary}.yaml").read_text(encoding="utf-8"))
        defaults = [item for item in content.pop("defaults") if isinstance(item, dict)]
        groups = {str(key).split()[-1].partition("@")[0] for item in defaults for key in item}
        if name in {*content, *groups} - {"hydra", "local"}:
            shown = yaml.safe_load(
                (CONF / f"hydra/help/{primary}.yaml").read_text(encoding="utf-8")
            )
            found += re.findall(r"^\w+\.py(?: --config-name=\w+)?", shown["header"])
    return found


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
    return sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "base")


def _keys(config_name: str, choices: Sequence[str]) -> set[str]:
    """Every key, branches and Hydra's too, of a config with these options.

    Without the options where they clash.
    """
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    running = GlobalHydra.instance().hydra  # inside of a sweep: put back below
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            try:
                composed = compose(config_name, list(choices), return_hydra_config=True)
            except HydraException:
                composed = compose(config_name, return_hydra_config=True)
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
