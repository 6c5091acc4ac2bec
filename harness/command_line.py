"""The command line as it is before Hydra reads it."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import UserError, one_of

# Flags that stand alone; argparse wants them, and those with a value, before the overrides.
ALONE = ("-m", "--multirun", "-h", "--help", "--hydra-help", "--resolve")


@dataclass(frozen=True)
class CommandLine:
    """What an entry point was asked.

    ``name`` is the config's name here and ``config`` its file under conf/; ``flags`` are those that
    a command which repeats one job needs, ``arguments`` are for Hydra.
    """

    name: str
    config: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]


def read_command_line(arguments: Sequence[str], configs: Mapping[str, str]) -> CommandLine:
    """Reads the arguments of an entry point.

    ``configs`` are the files under conf/ by the name that ``--config-name`` has here, the default
    one first. Raises UserError for another name, and for an override of ``task``, by which a config
    says whose it is.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-name", "-cn", default=next(iter(configs)))
    parser.add_argument("--config-dir", "-cd")
    try:
        named, others = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise UserError(f"{error}: write it as in --config-name=NAME") from error
    name = named.config_name.removesuffix(".yaml")
    if name not in configs:
        raise UserError(f"--config-name={name}: no such config here: {one_of(configs, name)}")
    folder = [] if named.config_dir is None else [f"--config-dir={named.config_dir}"]
    chosen = [] if name == next(iter(configs)) else [f"--config-name={name}"]
    if any(argument.partition("=")[0].lstrip("+~") == "task" for argument in others):
        raise UserError(f"task is set by the config: {one_of(configs, '', '--config-name=')}")
    ordered = sorted(others, key=_is_override)
    return CommandLine(name, configs[name], (*chosen, *folder), (*folder, *ordered))


def _is_override(argument: str) -> bool:
    return argument not in ALONE and not (argument.startswith("--") and "=" in argument)
