"""The wrapper around Hydra that every entry point uses: errors in one line, exit codes.

An entry point is a table of configs and one call::

    CONFIGS = {"evaluate": Config("evaluate", command), ...}
    start(CONFIGS)

Exit codes: 0 done, 1 the run failed, 2 a mistake of the user, 130 Ctrl-C, 143 SIGTERM,
129 SIGHUP.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from errno import EACCES, EISDIR, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from harness.errors import NothingToDoError, RunFailedError, UserError
from harness.files import NO_ROOM
from harness.interrupts import ADVICE, end_on_signals, raise_on_signals
from harness.outcomes import Command, Configs, Outcome, Plan

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from harness.command_line import CommandLine

DONE, FAILED, MISTAKE = 0, 1, 2
BAD_PATH = (EACCES, EPERM, EROFS, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP)
# Libraries that read the command line and the files under conf/: their errors are about those.
READERS = ("hydra", "omegaconf", "yaml")
OURS = ("harness", "memtoc", "factored", "hydra_plugins")


@dataclass
class Task:
    """What Hydra calls with each composed config; returns an outcome, also of a job that fails.

    The sweeper asks `plan` about all jobs before the first starts; a job that runs in this process
    then finds its plan here. ``flags`` go before the overrides of a command that repeats a job.
    ``gpus`` are those among which jobs that run side by side on this machine choose, ``sweep``
    names the sweep that a job belongs to. ``notes`` on the command line are printed before the
    first job; ``codes`` collects the exit codes.
    """

    command: Callable[[], Command[Any]]
    config_name: str
    flags: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    sweep: str = ""
    notes: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    _plans: dict[str, Plan[Any]] = field(default_factory=dict)

    def __call__(self, config: "DictConfig") -> Outcome:
        """Run the job of a composed config and return its outcome.

        An error becomes a failed outcome; an interrupt passes through.
        """
        outcomes: list[Outcome] = []
        code, error = guarded(lambda: outcomes.append(self._run(config)), self.config_name)
        outcome = outcomes[0] if outcomes else None
        if code != DONE:
            _release_model()
            outcome = Outcome("failed", code, error=error)
        assert outcome is not None
        if outcome.show and not self.sweep:
            code, error = guarded(partial(_show, outcome), self.config_name)
            outcome = replace(outcome, code=max(code, outcome.code), error=error or outcome.error)
        self.codes.append(outcome.code)
        return replace(outcome, show=None)

    def plan(self, config: "DictConfig") -> Plan[Any]:
        """Return the plan of a composed config; a config is planned once.

        Raises UserError for a value that does not fit, or that no rule between groups allows.
        """
        from harness.hashing import digest_of
        from harness.settings import resolve

        resolved = resolve(config)
        key = digest_of(resolved)
        if key not in self._plans:
            self._plans[key] = self.command().plan(resolved)
        return self._plans[key]

    def _run(self, config: "DictConfig") -> Outcome:
        from harness.devices import own_gpu
        from harness.terminal import console, say

        plan = replace(self.plan(config), sweep=self.sweep)
        if plan.dropped:
            raise UserError(plan.dropped)
        notes, self.notes = [*self.notes, *plan.notes], []
        for note in notes:
            console().print(f"note: {note}", highlight=False, markup=False)
        try:
            if not self.gpus:
                return self.command().run(plan)
            with own_gpu(self.gpus, Path(plan.config["paths"]["cache"])):
                return self.command().run(plan)
        except NothingToDoError as nothing:
            line = str(nothing)
            return Outcome("nothing to do", name=line, show=lambda: say(console(), line))


def _show(outcome: Outcome) -> None:
    """Print the details of a single run, then its notes, where they are not overlooked."""
    from harness.terminal import console, printable, say

    assert outcome.show is not None
    outcome.show()
    for note in outcome.notes:
        say(console(), f"note: {printable(note)}")


def start(configs: Configs) -> NoReturn:
    """Read the command line, compose its config, plan and run its command, exit with its code.

    ``configs`` are those that ``--config-name`` may name; the first is the default.
    """
    _open_streams()
    # Before the imports below: a Ctrl-C in the middle of one would print a traceback.
    end_on_signals()
    try:
        code = _run(configs)
    except KeyboardInterrupt as stop:
        _say(ADVICE)
        code = 128 + getattr(stop, "number", signal.SIGINT)
    end_on_signals()
    sys.exit(code)


def _open_streams() -> None:
    """Let what is printed go nowhere where a stream was closed (``>&-``), which makes it None."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")


def _run(configs: Configs) -> int:
    import hydra

    from harness.compose import CONF
    from harness.overrides import repeated

    asked = _asked(configs)

    task = Task(configs[asked.name].command, asked.config, asked.flags)
    task.notes = repeated(asked.overrides)
    sys.argv[1:] = asked.arguments
    # With this set Hydra raises its errors instead of printing them, so that they can be reworded.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    raise_on_signals()
    main = hydra.main(version_base="1.3", config_path=str(CONF), config_name=task.config_name)
    code, _ = guarded(main(task), task.config_name)
    return max([code, *task.codes])


def _asked(configs: Configs) -> "CommandLine":
    from harness.command_line import read_command_line
    from harness.overrides import check_overrides

    try:
        files = {name: config.file for name, config in configs.items()}
        asked = read_command_line(sys.argv[1:], files)
        check_overrides(asked.overrides)
    except UserError as error:
        _say(f"error: {error}")
        sys.exit(MISTAKE)
    return asked


def guarded(work: Callable[[], object], config_name: str) -> tuple[int, str]:
    """Run ``work``; return its exit code, and for an error the line that standard error gets.

    An interrupt passes through: in a sweep it has to end the whole sweep.
    """
    try:
        work()
    except Exception as error:  # noqa: BLE001  (the other jobs of a sweep must go on)
        code, line = _explained(error, config_name)
        line = " ".join(line.split())
        _say(f"{'error' if code == MISTAKE else 'failed'}: {line}")
        return code, line
    return DONE, ""


def _explained(error: Exception, config_name: str) -> tuple[int, str]:
    """Return exit code and line of an error; an unexpected one also prints its traceback."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from harness.compose import explain, no_option

    if isinstance(error, UserError | RunFailedError):
        return MISTAKE if isinstance(error, UserError) else FAILED, str(error)
    if isinstance(error, HydraException | OmegaConfBaseException):
        return MISTAKE, explain(error, config_name)
    if "Config group override" in str(error):
        named = no_option(sys.argv[1:]) or f"an override names no option ({error})"
        return MISTAKE, f"{named}: write group=option"
    if isinstance(error, OSError) and error.errno in (*NO_ROOM, *BAD_PATH):
        where = error.filename or "a file"
        return MISTAKE, f"{where}: {error.strerror}: free the disk or set paths.*"
    if _raised_while_reading(error):
        return MISTAKE, f"the command line or a file under conf/ cannot be read: {error}"
    traceback.print_exception(error)
    return FAILED, f"{type(error).__name__}: {error}"


def _raised_while_reading(error: Exception) -> bool:
    """Return whether the innermost frame of READERS or OURS is one of READERS."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    packages = [str(frame.f_globals.get("__name__", "")).split(".")[0] for frame in frames]
    known = [package for package in packages if package in (*READERS, *OURS)]
    return bool(known) and known[-1] in READERS


def _say(line: str) -> None:
    with suppress(OSError):  # a terminal that was closed
        print(line, file=sys.stderr)  # noqa: T201


def _release_model() -> None:
    """Release the loaded model after a failed job, so that the next starts with free memory."""
    from harness.generation import release

    release()
