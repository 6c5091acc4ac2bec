"""A tool agent on recorded calls, from settings to figures: ``--config-name=calls``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from factored.arm import EMBEDDED, chosen_tasks
from factored.call_checks import CallChecker, Punt
from factored.calls.data_set import RecordedCall, needing_write, recorded_calls, stratified
from factored.calls.results import CallMetrics, CallRow, final_states, grade, measure_calls
from factored.calls.settings import CallSettings, call_settings
from factored.dry_run import show_tool_agent
from factored.roles import audit_template
from factored.scripts import Scripts, check_user, domain_scripts, recorded_scripts
from factored.stored import check_count, read_rows, read_value
from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import data_folder, load_domain
from factored.taubench.tasks import Task
from factored.tool_agents import (
    ModelToolAgentSpec,
    Oracle,
    call_schema_of,
    canonical_tool_agent,
    constraint_in_words,
    tool_agent_messages,
)
from harness.cache import GenerationCache
from harness.completions import Request
from harness.environment import environment
from harness.errors import RunFailedError, UserError
from harness.fingerprint import fingerprint
from harness.folders import RunFolder, open_folder
from harness.generation import Backend, resident
from harness.hashing import digest_of
from harness.models import locate
from harness.outcomes import Outcome, Plan
from harness.passes import Row, check_errors, run_pass
from harness.terminal import console as terminal


@dataclass(frozen=True)
class CallArm:
    """Settings and what they name.

    ``writing`` are the dialogues (task, trial) whose final state is looked at; ``backend`` is None
    for a tool agent without a model.
    """

    settings: CallSettings
    config: Mapping[str, Any]
    loaded: LoadedDomain
    tasks: Mapping[int, Task]
    scripts: Scripts
    calls: Sequence[RecordedCall]
    writing: Sequence[tuple[int, int]]
    backend: Backend | None

    @property
    def fingerprint(self) -> str:
        """Identity of the run: settings, weights, and the calls with their dialogues."""
        asked = [[*call.place, call.request, call.dialogue] for call in self.calls]
        weights = self.backend.weights if self.backend else None
        return fingerprint(self.config, {"calls": digest_of(asked), "weights": weights})

    @cached_property
    def call_schema(self) -> str | None:
        """The schema that the tool agent's text is held to, None where it writes freely.

        Raises UserError where no text can be held to it.
        """
        return call_schema_of(self.settings.tool_agent, self.loaded.schemas)

    @property
    def slug(self) -> str:
        """Domain and tool agent, for people."""
        spec = self.settings.tool_agent
        player = spec.model.name if isinstance(spec, ModelToolAgentSpec) else spec.name
        return f"{self.settings.domain.name}-calls-{player}"


@dataclass(frozen=True)
class Replies:
    """What the tool agent gave for each call; replies cut, and prompts with a cut context."""

    texts: Sequence[str | Punt]
    truncated: int = 0
    shortened: int = 0


def plan(config: dict[str, Any]) -> Plan:
    """Return what a resolved config asks for: checked, in its one spelling."""
    call_settings(config)
    player, notes = canonical_tool_agent(config["tool_agent"])
    models = digest_of([player.get("model"), player.get("engine")])
    return Plan({**config, "tool_agent": player}, models, tuple(notes))


def run(planned: Plan) -> Outcome:
    """Ask the tool agent for every call of the sample, or read a finished run.

    Raises UserError for anything a user can mend, RunFailedError where too many rows failed.
    """
    console = terminal()
    for note in planned.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    arm = prepare(call_settings(planned.config), planned.config)
    if arm.settings.dry_run:
        return _dry_run(arm, console)
    root = Path(arm.settings.paths.runs)
    with open_folder(root, arm.slug, arm.fingerprint, arm.config) as folder:
        fresh = not folder.done
        if fresh:
            work(arm, folder)
            folder.finish({"calls": len(arm.calls), "seed": arm.settings.seed, **environment()})
        metrics = read_metrics(folder.path)
    exact = metrics.groups["all"]
    return Outcome(
        "done" if fresh else "already done",
        name=folder.path.name,
        folder=str(folder.path),
        figures={"exact": f"{exact.exact}/{exact.total}"},
        loads=arm.backend.loads if arm.backend else 0,
        show=lambda: show_calls(metrics, folder.path, terminal()),
    )


def prepare(settings: CallSettings, config: Mapping[str, Any]) -> CallArm:
    """Load the data, draw the sample and find the checkpoint; no weights are read.

    Raises UserError for data, a recording or a model that cannot be used.
    """
    spec = settings.domain
    folder = EMBEDDED if spec.embedded else data_folder(settings.taubench.path)
    loaded = load_domain(spec.name, folder, spec.province)
    tasks = chosen_tasks(loaded, spec)
    scripts = _scripts(settings, folder / spec.name, tasks)
    writing = needing_write(scripts, loaded, tasks)
    calls = recorded_calls(scripts)
    if settings.sample is not None:
        writes = loaded.domain.writes
        calls = stratified(calls, writing, writes, settings.sample, settings.seed)
    if not calls:
        raise UserError("no recorded call of these tasks: set taubench.recording, domain.tasks")
    backend = _backend(settings)
    arm = CallArm(settings, config, loaded, tasks, scripts, calls, writing, backend)
    _ = arm.call_schema  # refused before anything runs
    return arm


def _scripts(settings: CallSettings, folder: Path, tasks: Mapping[int, Task]) -> Scripts:
    """Return the recorded dialogues of the tasks, or those that come with the domain."""
    recording = settings.taubench.recording
    if recording is not None:
        found = recorded_scripts(Path(recording), settings.trials)
    else:
        found = domain_scripts(folder / f"scripts_{settings.domain.split}.json", 1)
    scripts = {key: script for key, script in found.items() if key[0] in tasks}
    for (task_id, _), script in scripts.items():
        check_user(script, task_id, tasks[task_id].user_id, settings.domain.split)
    return scripts


def _backend(settings: CallSettings) -> Backend | None:
    spec = settings.tool_agent
    if not isinstance(spec, ModelToolAgentSpec):
        return None
    checkpoint = None
    if spec.engine.reads_weights:
        checkpoint = locate(spec.model, Path(settings.paths.cache))
    return resident(spec.engine, spec.model, checkpoint)


def _dry_run(arm: CallArm, console: Console) -> Outcome:
    """Print the first call's prompt, what its reply is held to, and the number of calls."""
    spec, schemas = arm.settings.tool_agent, arm.loaded.schemas
    if isinstance(spec, ModelToolAgentSpec):
        show_tool_agent(console, spec, schemas, arm.calls[0].request)
    console.print(f"{len(arm.calls)} calls", highlight=False)
    return Outcome("dry run", name=f"{arm.slug}-{arm.fingerprint[:8]}")


def work(arm: CallArm, folder: RunFolder) -> None:
    """Ask for every call and write the run's files, all but the manifest.

    Raises RunFailedError, with the reason in FAILED, where too many rows failed.
    """
    if arm.backend is None:
        oracle = Oracle()
        replies = Replies([oracle.write(call.request, call.dialogue) for call in arm.calls])
    else:
        replies = _model_replies(arm, arm.backend, folder)
    checker = CallChecker(arm.loaded.schemas)
    rows = [grade(text, call, checker) for text, call in zip(replies.texts, arm.calls, strict=True)]
    spec, constrained = arm.settings.tool_agent, None
    if arm.call_schema is not None:
        assert isinstance(spec, ModelToolAgentSpec)
        constrained = constraint_in_words(spec, len(arm.loaded.schemas))
    metrics = measure_calls(
        rows,
        arm.loaded.domain.writes,
        truncated=replies.truncated,
        shortened=replies.shortened,
        final=final_states(arm.writing, arm.scripts, rows, arm.loaded, arm.tasks),
        constrained=constrained,
    )
    folder.write_rows("calls.jsonl", [row.as_row() for row in rows])
    folder.write("metrics.json", metrics.as_row())


def _model_replies(arm: CallArm, backend: Backend, folder: RunFolder) -> Replies:
    spec = arm.settings.tool_agent
    assert isinstance(spec, ModelToolAgentSpec)
    rows, shortened = [], 0
    for call in arm.calls:
        messages, left_out = tool_agent_messages(
            spec, arm.loaded.schemas, call.request, call.dialogue
        )
        shortened += left_out > 0
        labels = {"id": "/".join(map(str, call.place)), "tool": call.action.name}
        rows.append(Row(labels, Request(messages, spec.decoding, schema=arm.call_schema)))
    with GenerationCache(Path(arm.settings.paths.cache) / "generations.sqlite") as cache:
        completions, _ = run_pass(
            "calls", rows, folder, backend, cache, lambda: audit_template(backend)
        )
    try:
        check_errors(completions, arm.settings.report.max_error_rate)
    except RunFailedError as error:
        folder.fail(str(error))
        raise
    truncated = sum(reply.status == "truncated" for reply in completions)
    return Replies([reply.text for reply in completions], truncated, shortened)


def read_metrics(folder: Path) -> CallMetrics:
    """Return the figures of a finished run.

    Raises UserError where metrics.json or calls.jsonl is damaged or lacks rows.
    """
    metrics = read_value(folder / "metrics.json", CallMetrics)
    if "all" not in metrics.groups:
        raise UserError(f"{folder / 'metrics.json'} has no group 'all': move the folder away")
    rows = read_rows(folder / "calls.jsonl", CallRow)
    check_count(folder / "calls.jsonl", len(rows), metrics.groups["all"].total)
    return metrics


def show_calls(metrics: CallMetrics, folder: Path, console: Console) -> None:
    """Print the counts by group and by tool, the errors, the final states."""
    table = Table()
    names = ("total", "json", "right_tool", "valid", "exact")
    for name in ("", *names):
        table.add_column(name.replace("_", " "), justify="right" if name else "left")
    for group in (metrics.groups, metrics.tools):
        for label, counts in group.items():
            table.add_row(label, *(str(getattr(counts, name)) for name in names))
        table.add_section()
    console.print(table)
    errors = ", ".join(f"{count} {name}" for name, count in metrics.errors.items() if count)
    final = metrics.final
    for line in (
        f"errors: {errors or 'none'}",
        f"{metrics.truncated} replies cut, {metrics.shortened} contexts shortened",
        f"of {final.dialogues} recorded successes that need a write: {final.hashes} final"
        f" states equal, {final.rewards} rewards kept; {final.no_call} without any call",
        *([metrics.constrained] if metrics.constrained else []),
        f"run: {folder}",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
