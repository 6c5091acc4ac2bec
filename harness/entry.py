"""The one wrapper around Hydra that every entry point stands on: errors in a line, exit codes.

Exit codes: 0 done, 1 the run failed, 2 a mistake of the user, 130 interrupted.
"""

import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from errno import EACCES, EPERM, EROFS
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from harness.compose import CONF, config_of, explain
from harness.errors import UserError
from harness.files import NO_ROOM
from harness.outcomes import Job, Outcome, Planner

if TYPE_CHECKING:
    from omegaconf import DictConfig

DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


@dataclass
class Task:
    """What Hydra calls with each composed config; it gives an outcome and never raises.

    ``planner`` lets the sweeper check all jobs before the first starts. ``gpus`` are those among
    which jobs that run side by side on this machine choose, ``sweep`` names the sweep that a job
    belongs to; ``codes`` collects the exit codes.
    """

    job: Job
    planner: Planner | None
    config_name: str
    gpus: tuple[str, ...] = ()
    sweep: str = ""
    codes: list[int] = field(default_factory=list)

    def __call__(self, config: "DictConfig") -> Outcome:
        """Runs the job on the resolved config; only an interrupt passes through."""
        outcomes: list[Outcome | None] = []
        code, error = guarded(lambda: outcomes.append(self._run(config)), self.config_name)
        outcome = outcomes[0] if outcomes else None
        if code != DONE:
            _forget_model()
            outcome = Outcome("failed", code, error=error)
        outcome = outcome or Outcome("done")
        if outcome.show and not self.sweep:
            code, error = guarded(outcome.show, self.config_name)
            outcome = replace(outcome, code=max(code, outcome.code), error=error or outcome.error)
        self.codes.append(outcome.code)
        return replace(outcome, show=None)

    def _run(self, config: "DictConfig") -> Outcome | None:
        from harness.devices import own_gpu
        from harness.settings import resolve

        settings = resolve(config)
        if self.sweep and settings.get("tracker", {}).get("group", self.sweep) is None:
            settings["tracker"]["group"] = self.sweep
        with own_gpu(self.gpus, Path(settings.get("paths", {}).get("cache", "."))):
            return self.job(settings)


def start(config_name: str, job: Job, planner: Planner | None = None) -> NoReturn:
    """Composes the config, runs ``job`` on it as a plain container, exits with its code.

    Under ``-m`` the sweeper asks ``planner`` about every job first.
    """
    import hydra

    task = Task(job, planner, config_of(sys.argv[1:], config_name))
    sys.argv[1:] = sorted(sys.argv[1:], key=_is_override)
    # With this set Hydra raises its errors instead of printing them, so that they can be reworded.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    main = hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name)
    try:
        code, _ = guarded(main(task), task.config_name)
    except KeyboardInterrupt:
        _say("interrupted: run the same command again to go on")
        code = INTERRUPTED
    sys.exit(max([code, *task.codes]))


def _is_override(argument: str) -> bool:
    """False for a flag that stands alone: argparse wants those before the overrides."""
    alone = argument in ("-m", "--multirun", "-h", "--help", "--hydra-help", "--resolve")
    return not (alone or (argument.startswith("--") and "=" in argument))


def guarded(work: Callable[[], object], config_name: str) -> tuple[int, str]:
    """Runs ``work``; what it raises becomes an exit code and a line, also on standard error.

    An interrupt passes through: in a sweep it must end more than the job it hits.
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
    """Exit code and line; what nobody foresaw also leaves its traceback."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from harness.passes import RunFailedError

    if isinstance(error, UserError):
        return MISTAKE, str(error)
    if isinstance(error, RunFailedError):
        return FAILED, str(error)
    if isinstance(error, HydraException | OmegaConfBaseException):
        return MISTAKE, explain(error, config_name)
    if "Config group override" in str(error):
        return MISTAKE, f"an override names no group or no option ({error}): write group=option"
    if isinstance(error, OSError) and error.errno in (*NO_ROOM, EACCES, EPERM, EROFS):
        where = error.filename or "a file"
        return MISTAKE, f"{where}: {error.strerror}: free the disk or set paths.*"
    traceback.print_exception(error)
    return FAILED, f"{type(error).__name__}: {error}"


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201


def _forget_model() -> None:
    """A job that failed, perhaps for want of memory, leaves none of it to the next."""
    from harness.generation import release

    release()
