"""A TauBench arm made ready to run: settings, tasks, scripts, and the models of its roles."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from factored.agents import NativeApiForm
from factored.scripts import Script, Scripts, check_user, domain_scripts, recorded_scripts
from factored.settings import DomainSpec, TauBenchSettings
from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import EMBEDDED, data_folder, load_domain
from factored.taubench.tasks import Task
from factored.tool_agents import call_schema_of
from harness.errors import UserError, one_of
from harness.fingerprint import cosmetic_keys
from harness.generation import Backend, checkpoint_of
from harness.hashing import digest_of, digest_of_file
from harness.run import Run

# As manifests and trackers call them.
KIND, PRODUCT = "taubench", "factored-agents"


@dataclass(frozen=True)
class TauBenchArm:
    """Settings and what they name: tasks by id, scripts by kind, a backend for each model role."""

    settings: TauBenchSettings
    config: Mapping[str, Any]
    loaded: LoadedDomain
    tasks: Mapping[int, Task]
    scripts: Mapping[str, Scripts]
    backends: Mapping[str, Backend]

    sweep: str = ""

    @cached_property
    def run(self) -> Run:
        """Return the arm as a run: its folder and identity."""
        settings = self.settings
        parts = [settings.domain.name, settings.agent.name, self._player("planner")]
        if settings.tool_agent is not None:
            parts.append(self._player("tool_agent"))
        user = settings.model_roles.get("user")
        if user and not user.engine.speaks_for_model:
            parts.append(f"{user.engine.name}_user")
        recording = settings.taubench.recording
        return Run(
            kind=KIND,
            slug="-".join(parts),
            root=Path(settings.paths.runs),
            config=self.config,
            cosmetic=cosmetic_keys(TauBenchSettings),
            digests={
                "data": data_digest(self.loaded, self.tasks),
                "scripts": digest_of_file(Path(recording)) if recording else None,
                **role_digests(self.backends),
            },
            seed=settings.seed,
            backends=self.backends,
            tracker=settings.tracker,
            product=PRODUCT,
            sweep=self.sweep,
        )

    @cached_property
    def call_schema(self) -> str | None:
        """The schema that the tool agent's text is held to, None where it writes freely.

        Raises UserError where no text can be held to it.
        """
        return call_schema_of(self.settings.tool_agent, self.loaded.schemas)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools' schemas that go beside the planner's messages, none where they are in it."""
        agent = self.settings.agent
        return agent.tools(self.loaded.schemas) if isinstance(agent, NativeApiForm) else ()

    @property
    def skipped(self) -> int:
        """The number of the split's tasks that are left out, for whatever reason."""
        return len(self.loaded.tasks[self.settings.domain.split]) - len(self.tasks)

    def _player(self, role: str) -> str:
        """Return the name of the model that plays a role, or of what plays it without a model."""
        played = self.settings.model_roles.get(role)
        if played is None:
            return str(getattr(self.settings, role).name)
        return played.engine.speaker(played.model)

    def script(self, kind: str, task_id: int, trial: int) -> Script:
        """Return the script of an episode; ``kind`` is ``scripted`` or ``recorded``.

        Raises UserError where there is none, or where it is about another user than the task.
        """
        scripts = self.scripts[kind]
        if (task_id, trial) not in scripts:
            raise UserError(
                f"no {kind} dialogue of task {task_id}, trial {trial}:"
                " lower trials, or name the tasks in domain.tasks"
            )
        script = scripts[task_id, trial]
        check_user(script, task_id, self.tasks[task_id].user_id, self.settings.domain.split)
        return script


def role_digests(backends: Mapping[str, Backend]) -> dict[str, str | None]:
    """Return the digests of each role's weights and of its engine as it is resolved here."""
    found: dict[str, str | None] = {}
    for role, backend in backends.items():
        found[f"{role}.weights"] = backend.weights
        found[f"{role}.engine"] = digest_of(backend.spec.identity())
    return found


def prepare(settings: TauBenchSettings, config: Mapping[str, Any], sweep: str = "") -> TauBenchArm:
    """Load the data and the scripts, and find the checkpoints; no weights are read.

    Raises UserError for data, a recording or a model that cannot be used, and where the scripts
    lack an episode of the arm.
    """
    spec = settings.domain
    folder = EMBEDDED if spec.embedded else _data_folder(settings)
    loaded = load_domain(spec.name, folder, spec.province)
    if not loaded.policy:
        warnings.warn(f"{folder / spec.name}: has no policy.md: the agent reads none", stacklevel=2)
    tasks = chosen_tasks(loaded, spec)
    scripts = _scripts(settings, folder / spec.name)
    arm = TauBenchArm(
        settings=settings,
        config=config,
        loaded=loaded,
        tasks=_with_scripts(tasks, spec, scripts),
        scripts=scripts,
        backends=_backends(settings),
        sweep=sweep,
    )
    _ = arm.call_schema  # refused before anything runs
    for kind in settings.scripts:
        for task_id in arm.tasks:
            for trial in range(settings.trials):
                arm.script(kind, task_id, trial)
    return arm


def _data_folder(settings: TauBenchSettings) -> Path:
    """Return the folder of the data; an error also says what else the domain lacks.

    Whoever writes `domain=retail` alone would else be told one thing now and the other one then.
    """
    try:
        return data_folder(settings.taubench.path)
    except UserError as error:
        lacking = _without_scripts(settings) if "scripted" in settings.scripts else ""
        raise UserError(f"{error}{lacking and '; '}{lacking}") from error


def _without_scripts(settings: TauBenchSettings) -> str:
    roles = {"planner": settings.planner, "user": settings.user}
    scripted = [name for name, role in roles.items() if role.kind == "scripted"]
    return (
        f"domain={settings.domain.name} comes without scripts:"
        f" add {' '.join(f'{role}=llm' for role in scripted)}"
    )


def chosen_tasks(loaded: LoadedDomain, spec: DomainSpec) -> dict[int, Task]:
    """Return the tasks of a split by id, without ``exclude`` and those that cannot be scored.

    Raises UserError for an id that the split lacks, for a task that is named and cannot be scored,
    and where no task is left.
    """
    if spec.split not in loaded.tasks:
        raise UserError(
            f"domain.split: {spec.name} has no split '{spec.split}':"
            f" {one_of(loaded.tasks, spec.split)}"
        )
    tasks = loaded.tasks[spec.split]
    wanted = range(len(tasks)) if spec.tasks is None else spec.tasks
    for key, ids in (("tasks", wanted), ("exclude", spec.exclude)):
        _check_ids(ids, len(tasks), key, spec)
    chosen = {index: tasks[index] for index in wanted if index not in spec.exclude}
    unscorable = {index: task.tau2.unscorable for index, task in chosen.items() if task.tau2}
    for index, reason in unscorable.items():
        if reason and spec.tasks is not None:
            raise UserError(f"domain.tasks: task {index} cannot be scored here ({reason})")
    chosen = {index: task for index, task in chosen.items() if not unscorable.get(index)}
    if not chosen:
        raise UserError("domain.tasks: no task is left to run")
    return chosen


def _with_scripts(
    tasks: dict[int, Task], spec: DomainSpec, scripts: Mapping[str, Scripts]
) -> dict[int, Task]:
    """Return the tasks that were recorded, out of a whole split; a list of tasks stays whole.

    A listed task that is not recorded is refused by ``TauBenchArm.script``, by name.
    """
    if spec.tasks is not None or "recorded" not in scripts:
        return tasks
    recorded = {task_id for task_id, _ in scripts["recorded"]}
    return {index: task for index, task in tasks.items() if index in recorded}


def _check_ids(ids: Sequence[int], count: int, key: str, spec: DomainSpec) -> None:
    for index in ids:
        if not 0 <= index < count:
            raise UserError(
                f"domain.{key}: {spec.name} {spec.split} has no task {index}: ids go to {count - 1}"
            )


def _scripts(settings: TauBenchSettings, folder: Path) -> dict[str, Scripts]:
    found: dict[str, Scripts] = {}
    if "scripted" in settings.scripts:
        file = folder / f"scripts_{settings.domain.split}.json"
        if not file.is_file():
            raise UserError(f"{_without_scripts(settings)} (there is no {file})")
        found["scripted"] = domain_scripts(file, settings.trials)
    if "recorded" in settings.scripts:
        found["recorded"] = recorded_scripts(
            Path(str(settings.taubench.recording)), settings.trials
        )
    return found


def _backends(settings: TauBenchSettings) -> dict[str, Backend]:
    """Return a backend for each role; roles of the same model on the same engine share it."""
    found: dict[str, Backend] = {}
    for role, spec in settings.model_roles.items():
        cache = Path(settings.paths.cache)
        checkpoint = checkpoint_of(spec.engine, spec.model, cache, settings.dry_run)
        backend = Backend(spec.engine, spec.model, checkpoint)
        found[role] = next((known for known in found.values() if known == backend), backend)
    return found


def data_digest(loaded: LoadedDomain, tasks: Mapping[int, Task]) -> str:
    """Digest the databases, the schemas, the policy, and the tasks that are run."""
    return digest_of(
        {
            "state": loaded.fresh_state().data_hash(),
            "schemas": list(loaded.schemas),
            "policy": loaded.policy,
            "tasks": {str(index): task.as_row() for index, task in tasks.items()},
        }
    )
