"""Hydra's errors in one line that names the nearest valid key, option or kind of value.

Hydra says of `limt=3` that one may append it; a person who mistyped `limit` reads here::

    limt: no such setting: did you mean 'limit'?
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from harness.errors import NEAR, one_of
from harness.quoting import retyped, split_text
from harness.terminal import printable

if TYPE_CHECKING:
    from omegaconf.errors import OmegaConfBaseException

CONF = Path(__file__).parent.parent / "conf"
# What pip installs for each launcher that Hydra's makers and others publish.
LAUNCHERS = {
    "submitit_local": "-r requirements-cluster.txt",
    "submitit_slurm": "-r requirements-cluster.txt",
    "ray": "-r requirements-cluster.txt",
    "joblib": "hydra-joblib-launcher",
    "rq": "hydra-rq-launcher",
}
NO_TEXT = re.compile(r"=(?:[\d.]+|true|false|null)$")
MIXED = "a list stands where settings by name are needed, or the other way round"


def explain(error: Exception, config_name: str) -> str:
    """Return the line for an error of Hydra or OmegaConf: what is wrong, and the nearest name.

    ``config_name`` is the file under conf/ that was composed. OmegaConf's own error, which knows
    the key, is the cause of most of Hydra's; where Hydra keeps a fact in its text alone, the text
    is matched.
    """
    from hydra.errors import MissingConfigException
    from omegaconf.errors import OmegaConfBaseException

    text, chain = str(error), (error, error.__cause__, error.__context__)
    inner = next((link for link in chain if isinstance(link, OmegaConfBaseException)), None)
    if isinstance(error, MissingConfigException) and error.options is not None:
        return _option(error.missing_cfg_file, error.options)
    if inner and (merging := re.match(r"Error merging override (.+)", text)):
        return f"{merging[1]} does not fit: {_wanted(inner)}"
    if inner and (file := re.match(r"In '([^']+)': .+ while composing config:", text)):
        first = str(inner).partition("\n")[0]
        # Of a list in the place of a mapping OmegaConf does not say at which key it stands.
        reason = MIXED if first.startswith("Cannot merge") else first
        return f"{file[1]}.yaml (under conf/ or --config-dir): {reason}"
    missing = re.search(r"Could not override '([^']+)'|from config. '([^']+)' does not exist", text)
    given, full = (missing[1] or missing[2]) if missing else "", (inner and inner.full_key) or ""
    # 'frame.value={a: 1}' names frame.value and fails at frame.value.a: the longer key is wrong.
    if wrong := full if not given or full.startswith(f"{given}.") else given:
        return _key(wrong, config_name)
    return _first_line(error)


def _first_line(error: Exception) -> str:
    """Return Hydra's own first line, with the remedy for the mistakes that have a common one."""
    from hydra.errors import OverrideParseException

    lines = [line for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    if isinstance(error, OverrideParseException):
        return _unread(error.override)
    if "Sweep parameters" in first or "Ambiguous value" in first:
        given = re.match(r"Ambiguous value for argument '(.+)'$", first)
        text = f", one text as {retyped(given[1])}" if given else ""
        return f"{first}: add -m to sweep, or write a list as 'key=[a,b]'{text}"
    if first.startswith(("Could not append to config", "Multiple values for")):
        # Hydra goes on with advice for a defaults list, which a command line has not.
        return f"{first.partition('. To')[0].rstrip('.')}: leave out the +"
    return first


def _unread(override: str) -> str:
    """Return the line for an argument that Hydra's grammar takes apart, with what to type."""
    # Hydra's own message is its parser's: "mismatched input '=' expecting <EOF>".
    shown = printable(override)
    # What stands before a stray word and is no option, number or flag may be the start of its text.
    texts = [word for word in sys.argv[1:] if not _choices([word]) and not NO_TEXT.search(word)]
    if cut := split_text(texts, override):
        return f"{shown}: write key=value; a text with spaces is typed in quotes: {cut}"
    if "=" not in override:
        return f"{shown}: no setting: write key=value"
    if typed := retyped(override, any(flag in sys.argv for flag in ("-m", "--multirun"))):
        return f"{shown}: signs such as = , ( & ' and letters beyond a-z need quotes: type {typed}"
    return f"{shown}: cannot be read: lists are written 'key=[a,b]', texts as 'key=\"a text\"'"


def _wanted(error: "OmegaConfBaseException") -> str:
    """Return what kind of value the key takes that refused one."""
    first = str(error).partition("\n")[0]
    if not first.startswith("Cannot merge") or error.object_type not in (list, dict):
        return first[:1].lower() + first[1:]
    if error.object_type is list:
        return f"a list is needed, as in '{error.full_key}=[a,b]'"
    return f"settings by name are needed, set one by one, as in {error.full_key}.name=value"


def _option(path: str, offered: Sequence[str]) -> str:
    """Return the line for an option ``path`` (group/name) beside which Hydra found ``offered``."""
    group, _, name = path.rpartition("/")
    if group == "hydra/launcher":
        if name in LAUNCHERS:
            return f"{group}={name}: not installed: pip install {LAUNCHERS[name]}"
        offered = [*offered, *LAUNCHERS]
    elif not group.startswith("hydra"):
        # Of experiment=memtoc/x Hydra lists experiment/memtoc, a folder of the group experiment.
        group, _, name = path.partition("/")
        offered = options_of(group)
    return f"{group}={name}: no such option: {one_of(offered or ['(none)'], name)}"


def no_option(arguments: Sequence[str]) -> str:
    """Return the line for the first argument whose group has no such option; empty for none."""
    for argument in arguments:
        place, _, value = argument.lstrip("+").partition("=")
        group = place.partition("@")[0]
        if group and value and options_of(group) and value not in options_of(group):
            return _option(f"{group}/{value}", [])
    return ""


def _key(name: str, config_name: str) -> str:
    """Return the line for a dotted key that the config lacks.

    Takes the first part of the key that is missing and looks for a like name, in this order: the
    configs that have it at the top (``planner`` is taubench's), the keys beside it, the same place
    under the other options of its group (only planner=llm has a planner.model). The package of
    ``group@package`` is a key too.
    """
    at, _, path = name.rpartition("@")
    if not path:
        return f"{name}: a place is missing behind the @: write {at}=... or {at}@PLACE=..."
    if re.match(r"hydra(/|$)", name):
        return f"{name}: Hydra has no such group: a launcher is chosen by hydra/launcher=NAME"
    choices = [choice for choice in _choices(sys.argv[1:]) if not choice.startswith(f"{name}=")]
    keys = _keys(config_name, choices)
    parent, _, wrong = _first_missing(path, keys).rpartition(".")
    if not parent and wrong != path and wrong in _top_level(config_name):
        listed = one_of(options_of(wrong), "")
        return f"{name}: {wrong} has no keys here: write {wrong}=OPTION: {listed}"
    if not parent and (elsewhere := _elsewhere(path, config_name, keys)):
        return f"{name}: {elsewhere}"
    beside, near = [key for key in _names_in(parent, keys) if key != "hydra"], ""
    if not beside:
        return f"{name}: no such setting: {parent} is one value: write {parent}=..."
    group = parent.partition(".")[0]
    # Of the nameless group every file under conf/ would be an option, each a second to compose.
    options = [f"{group}={option}" for option in options_of(group)] if group else []
    if options and not _nearest(wrong, beside):
        found = ((_nearest(wrong, _names_in(parent, _keys(config_name, [o]))), o) for o in options)
        near = next((f"{key}' of {option}?" for key, option in found if key), "")
    prefix = (f"{at}@" if at else "") + (f"{parent}." if parent else "")
    hint = f"did you mean '{prefix}{near}" if near else one_of(beside, wrong, prefix)
    return f"{name}: no such setting: {hint}"


def _elsewhere(path: str, config_name: str, keys: Collection[str]) -> str:
    """Return where a key belongs that is not at the top of this config: roles, other configs."""
    if roles := _roles(path, config_name, keys):
        return f"is set for each role here: {', '.join(roles)}"
    wrong = path.partition(".")[0]
    others = " and to ".join(_configs_with(wrong))
    return f"no such setting here: '{wrong}' belongs to {others}" if others else ""


def _roles(path: str, config_name: str, keys: Collection[str]) -> list[str]:
    """Return what to write for a key that each role of this config has of its own.

    ``engine=mock`` is ``engine@planner.engine=mock`` where planner=llm has an engine in it, and
    ``engine.reply=...`` is ``planner.engine.reply=...``. ``keys`` are those of the config as it is.
    """
    part = path.partition(".")[0]
    value = next((a.partition("=")[2] for a in sys.argv[1:] if a.startswith(f"{path}=")), "...")
    found = []
    for group in sorted(_top_level(config_name)):
        having = [option for option in options_of(group) if _has_part(f"{group}/{option}", part)]
        if having:
            key = f"{part}@{group}.{part}" if path == part else f"{group}.{path}"
            needed = "" if f"{group}.{part}" in keys else f" (with {group}={having[0]})"
            found.append(f"{key}={value}{needed}")
    return found


def _has_part(option: str, part: str) -> bool:
    """Return whether an option's own file takes a group into it, as in ``/engine@engine: hf``."""
    content = yaml.safe_load((CONF / f"{option}.yaml").read_text(encoding="utf-8"))
    defaults = content.get("defaults", []) if isinstance(content, dict) else []
    return any(isinstance(item, dict) and f"/{part}@{part}" in item for item in defaults)


def _configs_with(name: str) -> list[str]:
    """Return the commands, e.g. ``evaluate.py --config-name=calls``, whose config has a name."""
    found = []
    for primary in sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "base"):
        if name in _top_level(primary):
            shown = yaml.safe_load(
                (CONF / f"hydra/help/{primary}.yaml").read_text(encoding="utf-8")
            )
            # Every help text begins with the command that it is about.
            found += re.findall(r"^\w+\.py(?: --config-name=\w+)?", shown["header"])
    return found


def _top_level(config_name: str) -> set[str]:
    """Return the keys and groups at the top of a config, as its own file under conf/ has them."""
    content = yaml.safe_load((CONF / f"{config_name}.yaml").read_text(encoding="utf-8"))
    defaults = [item for item in content.pop("defaults") if isinstance(item, dict)]
    groups = {str(key).split()[-1].partition("@")[0] for item in defaults for key in item}
    return {*content, *groups} - {"hydra", "local"}


def _nearest(name: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, names, n=1, cutoff=NEAR)), "")


def _first_missing(path: str, keys: Collection[str]) -> str:
    """Return the shortest beginning of a dotted path that is no key: ``a.x`` of ``a.x.y``."""
    parts = path.split(".")
    starts = [".".join(parts[: length + 1]) for length in range(len(parts))]
    return next((start for start in starts if start not in keys), path)


def _names_in(parent: str, keys: Iterable[str]) -> list[str]:
    split = [key.rpartition(".") for key in keys]
    return [name for place, _, name in split if place == parent]


def _choices(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that choose an option of a group; of a swept group the first option."""
    choices = []
    for argument in arguments:
        place, equals, options = argument.partition("=")
        option = options.split(",")[0]
        group = place.partition("@")[0]
        if equals and option in options_of(group):
            choices.append(f"{place}={option}")
    return choices


def options_of(group: str) -> Sequence[str]:
    """Return the names of a group's options, in order; none for what is no group."""
    folder = CONF / group
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.yaml"))


def _keys(config_name: str, choices: Sequence[str]) -> set[str]:
    """Return every dotted key of a config with these options: branches, leaves, and Hydra's.

    If the options clash with one another, the config is composed without them.
    """
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    # Hydra is a singleton of the process: inside of a sweep the running one is put back below.
    running = GlobalHydra.instance().hydra
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


def _branches(config: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in config.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _branches(value, f"{prefix}{name}.")
