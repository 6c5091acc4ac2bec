"""The command line as a person wrote it, put into the form that Hydra reads.

``limit=3 -m seed=1,2`` becomes ``-m limit=3 seed=1,2``, and ``--config-name=calls`` the file under
conf/ that this entry point calls so.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from harness.errors import UserError, one_of

# Hydra's flags that make sense here. With its own parser a mistyped flag prints a usage of ten
# lines, and `--config-nam=merge` is taken for the beginning of --config-name.
SWITCHES = (
    ("--multirun", "-m"),
    ("--help", "-h"),
    ("--hydra-help",),
    ("--version",),
    ("--resolve",),
    ("--run", "-r"),
    ("--shell-completion", "-sc"),
)
INFO = ("--info", "-i")
VALUES = (
    (("--cfg", "-c"), ("job", "hydra", "all")),
    (INFO, ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")),
    (("--package", "-p"), None),
    (("--config-name", "-cn"), None),
    (("--config-dir", "-cd"), None),
)
FLAGS = (
    *(flag for names in SWITCHES for flag in names),
    *(f for names, _ in VALUES for f in names),
)
NOT_HERE = {
    "--config-path": "the configs are this project's: add a folder of yours with --config-dir",
    "-cp": "the configs are this project's: add a folder of yours with --config-dir",
    "--experimental-rerun": "run the same command again: what is finished is kept",
}
NEAR_FLAG = 0.75  # difflib's ratio: --mutlirun has .91 of --multirun, --dry_run .71 of --run


@dataclass(frozen=True)
class CommandLine:
    """A command line, read: which config, and with what arguments.

    ``name`` is the config's name at this entry point, ``config`` its file under conf/. A command
    that repeats one job needs the ``flags``; Hydra gets the ``arguments``, flags before overrides,
    and ``overrides`` are the latter alone.
    """

    name: str
    config: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]
    overrides: tuple[str, ...]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message.removeprefix("argument "))


def read_command_line(arguments: Sequence[str], configs: Mapping[str, str]) -> CommandLine:
    """Read the arguments of an entry point.

    ``configs`` holds the files under conf/ by the names that ``--config-name`` takes, the default
    first. Raises UserError for an unknown flag or name, for an argument that is neither a flag nor
    an override, and for an override of ``task``, which only the config itself sets.
    """
    for argument in arguments:
        if argument.startswith("-"):
            _check_flag(argument)
    # Hydra's --info may go without its value; argparse would take the override behind it for one.
    words = ["--info=all" if argument in INFO else argument for argument in arguments]
    named, overrides = _parser(next(iter(configs))).parse_known_args(words)
    name = named.config_name.removesuffix(".yaml")
    if name not in configs:
        raise UserError(f"--config-name={name}: no such config here: {_listed(configs, name)}")
    if any(override.partition("=")[0].lstrip("+~") == "task" for override in overrides):
        raise UserError(f"task is set by the config: {one_of(configs, '', '--config-name=')}")
    if not named.shell_completion:
        _check_form(overrides)
    if named.package and not named.cfg:
        raise UserError(f"--package={named.package} shows a part of the config: add --cfg job")
    folder = [] if named.config_dir is None else [f"--config-dir={named.config_dir}"]
    chosen = [] if name == next(iter(configs)) else [f"--config-name={name}"]
    # Flags go first: Hydra's parser takes overrides as one argument of nargs="*", which argparse
    # fills once, so that `limit=3 -m seed=1` ends in "unrecognized arguments: seed=1".
    flags = [*folder, *_given(named)]
    return CommandLine(
        name, configs[name], (*chosen, *folder), (*flags, *overrides), tuple(overrides)
    )


def _parser(default: str) -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False, usage=argparse.SUPPRESS)
    for names in SWITCHES:
        parser.add_argument(*names, action="store_true")
    for names, choices in VALUES:
        parser.add_argument(*names, choices=choices)
    parser.set_defaults(config_name=default)
    return parser


def _given(named: argparse.Namespace) -> list[str]:
    """Return the flags for Hydra, each as one argument; the config is named beside them."""
    given = [names[-1] for names in SWITCHES if getattr(named, _field(names[0]))]
    for flag in ("--cfg", "--package", "--info"):
        value = getattr(named, _field(flag))
        given += [f"{flag}={value}"] if value is not None else []
    return given


def _field(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _listed(configs: Mapping[str, str], given: str) -> str:
    """Return the nearest name, if there is one, and all of them."""
    every = f"the configs are {', '.join(configs)}"
    near = one_of(configs, given)
    return f"{near} {every}" if near.startswith("did you mean") else every


def _check_flag(argument: str) -> None:
    name = argument.partition("=")[0]
    if name in NOT_HERE:
        raise UserError(f"{name} is not taken here: {NOT_HERE[name]}")
    if name in FLAGS:
        return
    if len(name) <= 2:  # of one letter nearly every flag is a near one
        raise UserError(f"{name}: no such flag: the flags are {', '.join(sorted(FLAGS))}")
    long, word = [flag for flag in FLAGS if flag.startswith("--")], name.lstrip("-")
    # `--dry_run` is near to --run and is a setting all the same.
    if get_close_matches(f"--{word}", long, n=1, cutoff=NEAR_FLAG):
        raise UserError(f"{name}: no such flag: {one_of(long, f'--{word}')}")
    setting = f"{word.replace('-', '_')}={argument.partition('=')[2] or 'VALUE'}"
    hint = f"a setting is written without dashes: {setting}"
    if "=" not in argument:
        hint = f"{one_of(long, '')}; {hint}"
    raise UserError(f"{name}: no such flag: {hint}")


def _check_form(overrides: Sequence[str]) -> None:
    """Raise UserError for the first setting that was typed in two or three words.

    Hydra's grammar names its lexer there. Other words without "=" are left to it: what a shell cut
    out of a text with spaces is put together in `harness.compose`.
    """
    for at, override in enumerate(overrides):
        key, equals, value = override.partition("=")
        if key.startswith("~") or (equals and key and key == key.strip()):
            continue
        if equals and key.strip():
            raise UserError(f"'{override}': write {key.strip()}={value.strip()}, without spaces")
        cut = any("=" in earlier for earlier in overrides[:at])
        before = overrides[at - 1] if at else ""
        _check_apart(cut, before, override, *overrides[at + 1 : at + 3])


def _check_apart(cut: bool, before: str, word: str, following: str = "", after: str = "") -> None:
    """Raise UserError saying what to write in place of a word: ``limit`` of ``limit = 3``.

    ``cut`` says that the word may be a part of a text that the shell cut at its spaces.
    """
    if following.startswith("="):
        value = following[1:] or after
        apart = " ".join(part for part in (word, following, "" if following[1:] else after) if part)
        raise UserError(f"'{apart}': write {word}={value or 'VALUE'}, without spaces")
    if before.endswith(",") and before.count("[") > before.count("]"):
        name, _, start = before.partition("=")
        raise UserError(
            f"'{before} {word}': a list is one argument: write '{name}={start}{word}', in quotes"
        )
    if before.endswith("="):
        raise UserError(f"'{before} {word}': write {before}{word}, without spaces")
    key, colon, value = word.partition(":")
    if colon and key.replace(".", "").isidentifier():
        raise UserError(f"{word}: a setting is written with '=': {key}={value.strip()}")
    if not cut and following and "=" not in following:
        raise UserError(f"'{word} {following}': a setting is written {word}={following}")
