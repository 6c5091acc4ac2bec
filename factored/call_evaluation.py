"""A tool agent on recorded calls, from settings to figures: ``--config-name=calls``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from rich.console import Console
from rich.table import Table

from factored.arm import EMBEDDED, chosen_tasks
from factored.call_set import (
    RecordedCall,
    final_states,
    measure_calls,
    needing_write,
    outcome,
    recorded_calls,
    stratified,
)
from factored.calls import CallChecker
from factored.dry_run import show_tool_agent
from factored.roles import audit_template
from factored.scripts import Scripts, check_user, domain_scripts, recorded_scripts
from factored.settings import DomainSpec, Paths, Sources, ToolAgentSpec, check_count
from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import data_folder, load_domain
from factored.taubench.tasks import Action, Task
from factored.tool_agents import (
    ModelToolAgentSpec,
    Oracle,
    call_schema_of,
    canonical_tool_agent,
    constraint_in_words,
    tool_agent_messages,
)
from harness.cache import GenerationCache
from harness.completions import Completion, Request
from harness.environment import environment
from harness.errors import RunFailedError, UserError
from harness.fingerprint import fingerprint
from harness.folders import RunFolder, open_folder
from harness.generation import Backend, resident
from harness.hashing import digest_of
from harness.models import locate
from harness.outcomes import Outcome, Plan
from harness.passes import Row, check_errors, run_pass
from harness.settings import parse
from harness.terminal import console as terminal
from harness.tracking import TrackerSpec


@dataclass(frozen=True)
class CallsReport:
    """A run of which more than this share of rows fails is a failed one."""

    max_error_rate: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class CallSettings:
    """One tool agent on one set of recorded calls."""

    task: Literal["calls"]
    domain: DomainSpec
    tool_agent: ToolAgentSpec
    sample: int | None
    trials: int
    seed: int
    taubench: Sources
    dry_run: bool
    report: CallsReport
    tracker: TrackerSpec
    paths: Paths


@dataclass(frozen=True)
class CallArm:
    """Settings and what they name: the calls, and the dialogues whose end is looked at."""

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
        """What the tool agent's text is held to; raises UserError where it cannot be."""
        return call_schema_of(self.settings.tool_agent, self.loaded.schemas)

    @property
    def slug(self) -> str:
        """Domain and tool agent, for people."""
        spec = self.settings.tool_agent
        player = spec.model.name if isinstance(spec, ModelToolAgentSpec) else spec.name
        return f"{self.settings.domain.name}-calls-{player}"


def plan(container: dict[str, Any]) -> Plan:
    """The validated settings of a run."""
    settings = parse(CallSettings, container)
    if settings.sample is not None and settings.sample < 1:
        raise UserError(f"sample={settings.sample}: give at least 1, or null for all calls")
    check_count("trials", settings.trials)
    player, notes = canonical_tool_agent(container["tool_agent"])
    models = digest_of([player.get("model"), player.get("engine")])
    return Plan({**container, "tool_agent": player}, models, tuple(notes))


def run(planned: Plan) -> Outcome:
    """Asks the tool agent for every call of the sample, or reads a finished run."""
    console = terminal()
    for note in planned.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    arm = _prepare(parse(CallSettings, planned.config), planned.config)
    if arm.settings.dry_run:
        return _dry_run(arm, console)
    root = Path(arm.settings.paths.runs)
    with open_folder(root, arm.slug, arm.fingerprint, arm.config) as folder:
        fresh = not folder.done
        if fresh:
            _run(arm, folder)
        metrics = folder.read("metrics.json")
    exact = metrics["groups"]["all"]
    return Outcome(
        "done" if fresh else "already done",
        name=folder.path.name,
        folder=str(folder.path),
        figures={"exact": f"{exact['exact']}/{exact['total']}"},
        loads=arm.backend.loads if arm.backend else 0,
        show=lambda: show_calls(metrics, folder.path, terminal()),
    )


def _dry_run(arm: CallArm, console: Console) -> Outcome:
    """Shows the first call's prompt, what its reply is held to, and the number of calls."""
    spec, schemas = arm.settings.tool_agent, arm.loaded.schemas
    if isinstance(spec, ModelToolAgentSpec):
        show_tool_agent(console, spec, schemas, arm.calls[0].request)
    console.print(f"{len(arm.calls)} calls", highlight=False)
    return Outcome("dry run", name=f"{arm.slug}-{arm.fingerprint[:8]}")


def _prepare(settings: CallSettings, config: Mapping[str, Any]) -> CallArm:
    spec = settings.domain
    folder = EMBEDDED if spec.embedded else data_folder(settings.taubench.path)
    loaded = load_domain(spec.name, folder, spec.province)
    recording = settings.taubench.recording
    if recording is not None:
        scripts: Scripts = recorded_scripts(Path(recording), settings.trials)
    else:
        scripts = domain_scripts(folder / spec.name / f"scripts_{spec.split}.json", 1)
    tasks = chosen_tasks(loaded, spec)
    scripts = {key: script for key, script in scripts.items() if key[0] in tasks}
    for (task_id, _), script in scripts.items():
        check_user(script, task_id, tasks[task_id].user_id, spec.split)
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


def _backend(settings: CallSettings) -> Backend | None:
    spec = settings.tool_agent
    if not isinstance(spec, ModelToolAgentSpec):
        return None
    checkpoint = None
    if spec.engine.reads_weights:
        checkpoint = locate(spec.model, Path(settings.paths.cache))
    return resident(spec.engine, spec.model, checkpoint)


def _run(arm: CallArm, folder: RunFolder) -> None:
    checker = CallChecker(arm.loaded.schemas)
    if arm.backend is None:
        oracle = Oracle()
        texts = [oracle.write(call.request, call.dialogue) for call in arm.calls]
        outcomes = [
            outcome(text, call, checker) for text, call in zip(texts, arm.calls, strict=True)
        ]
        cut = shortened = 0
    else:
        completions, shortened = _completions(arm, arm.backend, folder)
        outcomes = [
            outcome(reply.text, call, checker)
            for reply, call in zip(completions, arm.calls, strict=True)
        ]
        cut = sum(reply.status == "truncated" for reply in completions)
    metrics = measure_calls(arm.calls, outcomes, arm.loaded.domain.writes)
    metrics |= {"truncated": cut, "shortened": shortened, "final": _final(arm, outcomes)}
    if arm.call_schema is not None:
        assert isinstance(arm.settings.tool_agent, ModelToolAgentSpec)
        tools = len(arm.loaded.schemas)
        metrics["constrained"] = constraint_in_words(arm.settings.tool_agent, tools)
    rows = [
        {"place": list(call.place), "tool": call.action.name, **found}
        for call, found in zip(arm.calls, outcomes, strict=True)
    ]
    folder.write_rows("calls.jsonl", rows)
    folder.write("metrics.json", metrics)
    folder.finish({"calls": len(arm.calls), "seed": arm.settings.seed, **environment()})


def _completions(arm: CallArm, backend: Backend, folder: RunFolder) -> tuple[list[Completion], int]:
    """The tool agent's texts, and for how many of them it was shown a part of the dialogue."""
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
    return completions, shortened


def _final(arm: CallArm, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Final states of the recorded successes that need a write."""
    made = {
        call.place: Action(found["action"]["name"], found["action"]["kwargs"])
        if found["action"]
        else None
        for call, found in zip(arm.calls, outcomes, strict=True)
        if call.action.name in arm.loaded.domain.writes
    }
    return final_states(arm.writing, arm.scripts, made, arm.loaded, arm.tasks)


def show_calls(metrics: Mapping[str, Any], folder: Path, console: Console) -> None:
    """Prints the counts by group and by tool, the errors, the final states."""
    table = Table()
    names = ("total", "json", "right_tool", "valid", "exact")
    for name in ("", *names):
        table.add_column(name.replace("_", " "), justify="right" if name else "left")
    for group in ("groups", "tools"):
        for label, counts in metrics[group].items():
            table.add_row(label, *(str(counts[name]) for name in names))
        table.add_section()
    console.print(table)
    errors = ", ".join(f"{count} {name}" for name, count in metrics["errors"].items() if count)
    final = metrics["final"]
    for line in (
        f"errors: {errors or 'none'}",
        f"{metrics['truncated']} replies cut, {metrics['shortened']} contexts shortened",
        f"of {final['dialogues']} recorded successes that need a write: {final['hashes']} final"
        f" states equal, {final['rewards']} rewards kept; {final['no_call']} without any call",
        *([metrics["constrained"]] if "constrained" in metrics else []),
        f"run: {folder}",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
