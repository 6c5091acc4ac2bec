"""Hydra's basic sweeper, made to check, deduplicate, group and report the arms of a sweep."""

import copy
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

if TYPE_CHECKING:
    from harness.entry import Task
    from harness.outcomes import Outcome, Plan
    from harness.sweeps import Sweep


class ComposedOnce:
    """What the launcher of this process needs of Hydra's config loader: each job composed once.

    A job is composed to be planned, and its launcher asks for it again: .2 s each, of which a sweep
    of 500 arms would see 100. Launchers that send their jobs to other processes keep Hydra's own
    loader, which goes along with each job.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def load_sweep_config(self, master: DictConfig, overrides: list[str]) -> DictConfig:
        """Return the config of a job; the second call for the same overrides hands it over."""
        key = tuple(overrides)
        if key in self._composed:
            return self._composed.pop(key)
        config: DictConfig = self._loader.load_sweep_config(master, overrides)
        self._composed[key] = config
        return config


class ArmSweeper(BasicSweeper):  # type: ignore[misc]  # Hydra's classes are not read
    """Product of all ``key=a,b`` overrides, as in the basic sweeper; the rest is in harness.sweeps.

    Nothing is written to disk: a sweep is continued from its arms' folders.
    """

    task: "Task"

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep the task, which knows how to plan a job."""
        super().setup(hydra_context=hydra_context, task_function=task_function, config=config)
        self._composed = ComposedOnce(hydra_context.config_loader)
        if isinstance(self.launcher, BasicLauncher):
            callbacks = hydra_context.callbacks
            self.launcher.hydra_context = HydraContext(self._composed, callbacks)
        self.task = cast("Task", task_function)

    def sweep(self, arguments: list[str]) -> list["Outcome"]:
        """Run the sweep that ``arguments`` span, print its table, return its outcomes."""
        from harness.sweeps import check_presets, command_of, plan_sweep, show_sweep
        from harness.terminal import console as terminal

        check_presets(arguments)
        sweep = plan_sweep(self._combinations(arguments), self._plan)
        console = terminal()
        for line in sweep.lines():
            console.print(f"note: {line}", highlight=False, markup=False, soft_wrap=True)
        outcomes: list[Outcome] = []
        commands = [command_of(job.overrides, self.task.flags) for job in sweep.jobs]
        try:
            self._launch(sweep, outcomes, console)
        finally:
            show_sweep(sweep, outcomes, commands, console)
            self.task.codes.extend(outcome.code for outcome in outcomes)
        return outcomes

    @property
    def _config(self) -> DictConfig:
        config: DictConfig | None = self.config
        assert config is not None
        return config

    def _combinations(self, arguments: Sequence[str]) -> list[list[str]]:
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = parser.parse_overrides([*self._parse_config(), *arguments])
        return [list(job) for job in self.split_arguments(overrides, None)[0]]

    def _plan(self, overrides: Sequence[str]) -> "Plan[Any]":
        from harness.compose import explain
        from harness.errors import UserError

        try:
            config = self._composed.load_sweep_config(self._config, list(overrides))
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(explain(error, self.task.config_name)) from error
        alone = copy.deepcopy(config)
        OmegaConf.set_struct(alone, False)
        alone.pop("hydra")
        return self.task.plan(alone)

    def _launch(self, sweep: "Sweep", outcomes: list["Outcome"], console: Any) -> None:
        """One job at a time in this process, so that each outcome is known at once; else all."""
        from harness.devices import visible_gpus
        from harness.outcomes import Outcome
        from harness.sweeps import plain

        assert self.launcher is not None
        self.task.sweep = sweep.name
        jobs = [list(job.overrides) for job in sweep.jobs]
        if isinstance(self.launcher, BasicLauncher):
            for number, job in enumerate(sweep.jobs):
                console.rule(f"arm {number + 1} of {len(jobs)}: {job.label}", style="dim")
                returned = self.launcher.launch([jobs[number]], initial_job_idx=number)
                outcomes.append(plain(returned[0]._return_value))
            return
        _importable_elsewhere()
        if type(self.launcher).__name__ == "LocalLauncher":
            self.task.gpus = visible_gpus()
        try:
            returned = self.launcher.launch(jobs, initial_job_idx=0) if jobs else []
        except Exception as error:  # noqa: BLE001  (a process that was killed ends in many ways)
            what = f"the launcher failed ({type(error).__name__}: {error})"
            lost = f"{what}: arms that are finished are kept"
            outcomes.extend([Outcome("failed", 1, error=lost)] * len(jobs))
            return
        outcomes.extend(plain(job._return_value) for job in returned)


def _importable_elsewhere() -> None:
    """Other processes start in the folder that the sweep was started in, which may be any."""
    from harness.compose import CONF

    paths = [str(CONF.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
