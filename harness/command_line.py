"""The command line as a person wrote it, put into the form that Hydra reads.

``limit=3 -m seed=1,2`` becomes ``-m limit=3 seed=1,2``, and ``--config-name=calls`` the file under
conf/ that this entry point calls so.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import UserError, one_of

# Flags without a value. Hydra's parser takes overrides as one argument of nargs="*", which argparse
# fills once: `limit=3 -m seed=1` ends in "unrecognized arguments: seed=1". So flags go first.
ALONE = ("-m", "--multirun", "-h", "--help", "--hydra-help", "--resolve")


@dataclass(frozen=True)
class CommandLine:
    """A command line, read: which config, and with what arguments.

    ``name`` is the config's name at this entry point, ``config`` its file under conf/. A command
    that repeats one job needs the ``flags``; Hydra gets the ``arguments``.
    """

    name: str
    config: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]


def read_command_line(arguments: Sequence[str], configs: Mapping[str, str]) -> CommandLine:
    """Read the arguments of an entry point.

    ``configs`` holds the files under conf/ by the names that ``--config-name`` takes, the default
    first. Raises UserError for another name, and for an override of ``task``, which only the config
    itself sets.
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
