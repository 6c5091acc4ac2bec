"""A tool agent on recorded calls, from settings to figures: ``--config-name=calls``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.table import Table

from factored.arm import PRODUCT, chosen_tasks, data_digest, role_digests
from factored.call_checks import CallChecker, Punt
from factored.calls.data_set import RecordedCall, needing_write, recorded_calls, stratified
from factored.calls.results import (
    CallMetrics,
    CallRow,
    FinalStates,
    final_states,
    grade,
    measure_calls,
)
from factored.calls.settings import CallSettings, call_settings
from factored.dry_run import show_tool_agent
from factored.roles import audit_template
from factored.scripts import Scripts, check_user, domain_scripts, recorded_scripts
from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import EMBEDDED, data_folder, load_domain
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
from harness.errors import UserError
from harness.fingerprint import cosmetic_keys
from harness.folders import RunFolder
from harness.generation import Backend, PassCounts, checkpoint_of
from harness.generation import loaded as loaded_backend
from harness.hashing import digest_of
from harness.manifest import Manifest, check_files, read_manifest
from harness.outcomes import Command, Outcome, Plan
from harness.passes import Row, check_empties, check_errors, run_pass
from harness.remarks import remarks
from harness.rows import REMEDY, read_rows, read_value
from harness.run import Produced, Run, execute
from harness.terminal import console, say
from harness.thoughts import without_unopened
from harness.tracking import TrackerLog

KIND = "calls"
FILES = ("config.yaml", "manifest.json", "metrics.json", "calls.jsonl")
# What is counted of a group of calls, each step among those before it.
STEPS = ("total", "json", "right_tool", "valid", "exact")


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

    sweep: str = ""

    @cached_property
    def run(self) -> Run:
        """Return the run: its folder and identity."""
        settings, spec = self.settings, self.settings.tool_agent
        player = spec.name
        if isinstance(spec, ModelToolAgentSpec):
            player = spec.engine.speaker(spec.model)
        backends = {"tool_agent": self.backend} if self.backend else {}
        asked = [[*call.place, call.request, call.dialogue] for call in self.calls]
        return Run(
            kind=KIND,
            slug=f"{settings.domain.name}-calls-{player}",
            root=Path(settings.paths.runs),
            config=self.config,
            cosmetic=cosmetic_keys(CallSettings),
            digests={
                "data": data_digest(self.loaded, self.tasks),
                "calls": digest_of(asked),
                **role_digests(backends),
            },
            seed=settings.seed,
            backends=backends,
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


@dataclass(frozen=True)
class Replies:
    """What the tool agent gave for each call, and what that cost.

    ``truncated`` counts replies cut at their length, ``shortened`` prompts with a cut context.
    ``cost`` is None for a tool agent without a model; ``notes`` say what its replies were like.
    """

    texts: Sequence[str | Punt]
    truncated: int = 0
    shortened: int = 0
    cost: PassCounts | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class FinishedCalls:
    """A finished run: what its manifest says, a row for each call, the figures."""

    folder: Path
    manifest: Manifest
    rows: tuple[CallRow, ...]
    metrics: CallMetrics

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a run's folder.

        Raises UserError, naming file, line and what to do, for a folder that is no such run of this
        version, a row that does not fit, and files that disagree.
        """
        manifest = read_manifest(folder, KIND, "run of calls")
        metrics = read_value(folder / "metrics.json", CallMetrics)
        rows = read_rows(folder / "calls.jsonl", CallRow)
        check_files(folder, manifest)
        if "all" not in metrics.groups or metrics.groups["all"].total != len(rows):
            raise UserError(f"{folder / 'metrics.json'} does not count {len(rows)} calls: {REMEDY}")
        return cls(folder, manifest, rows, metrics)


def plan(config: dict[str, Any]) -> Plan[CallSettings]:
    """Return what a resolved config asks for: checked, in its one spelling."""
    player, notes = canonical_tool_agent(config["tool_agent"])
    spelt = {**config, "tool_agent": player}
    settings = call_settings(spelt)
    models = digest_of([player.get("model"), player.get("engine")])
    return Plan(spelt, settings, models, tuple(notes))


def run(planned: Plan[CallSettings]) -> Outcome:
    """Ask the tool agent for every call of the sample, or read a finished run.

    Raises UserError for anything a user can mend, RunFailedError where too many rows failed.
    """
    arm = prepare(planned.settings, planned.config, planned.sweep)
    if arm.settings.dry_run:
        return _dry_run(arm, console())
    done = execute(arm.run, partial(_work, arm), FinishedCalls.load, _shown)
    exact = done.result.metrics.groups["all"]
    return done.outcome(
        {"exact": f"{exact.exact}/{exact.total}"},
        lambda: show_calls(done.result, console()),
        {"exact": "calls whose tool and arguments are those of the recording"},
    )


CALLS = Command(CallSettings, plan, run)


def prepare(settings: CallSettings, config: Mapping[str, Any], sweep: str = "") -> CallArm:
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
    arm = CallArm(settings, config, loaded, tasks, scripts, calls, writing, backend, sweep)
    _ = arm.call_schema  # refused before anything runs
    return arm


def _scripts(settings: CallSettings, folder: Path, tasks: Mapping[int, Task]) -> Scripts:
    """Return the recorded dialogues of the tasks, or those that come with the domain."""
    recording = settings.taubench.recording
    if recording is not None:
        found = recorded_scripts(Path(recording), settings.trials)
    else:
        file = folder / f"scripts_{settings.domain.split}.json"
        if not file.is_file():
            raise UserError(
                f"domain={settings.domain.name} comes without recorded calls:"
                f" add taubench.recording=FILE, a result file (there is no {file})"
            )
        found = domain_scripts(file, 1)
    scripts = {key: script for key, script in found.items() if key[0] in tasks}
    for (task_id, _), script in scripts.items():
        check_user(script, task_id, tasks[task_id].user_id, settings.domain.split)
    return scripts


def _backend(settings: CallSettings) -> Backend | None:
    spec = settings.tool_agent
    if not isinstance(spec, ModelToolAgentSpec):
        return None
    cache = Path(settings.paths.cache)
    checkpoint = checkpoint_of(spec.engine, spec.model, cache, settings.dry_run)
    return loaded_backend(spec.engine, spec.model, checkpoint)


def _dry_run(arm: CallArm, screen: Console) -> Outcome:
    """Print the first call's prompt, what its reply is held to, and the number of calls."""
    spec, schemas = arm.settings.tool_agent, arm.loaded.schemas
    if isinstance(spec, ModelToolAgentSpec):
        show_tool_agent(screen, spec, schemas, arm.calls[0].request)
    say(screen, f"{len(arm.calls)} calls")
    return Outcome("dry run", name=arm.run.name)


def _work(arm: CallArm, folder: RunFolder) -> Produced:
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
    cost = replies.cost or PassCounts(len(rows), len(rows), 0, 0, 0, 0, 0)
    reader = "the command that made it (evaluate.py --config-name=calls) prints its figures"
    return Produced(cost.as_row(), {"read_with": reader}, notes=replies.notes)


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
        completions, cost = run_pass(
            "calls", rows, folder, backend, cache, lambda: audit_template(backend)
        )
    check_errors(completions, arm.settings.report.max_error_rate)
    check_empties(completions, arm.settings.report.max_empty_rate)
    truncated = sum(reply.status == "truncated" for reply in completions)
    texts = [without_unopened(reply.text) for reply in completions]
    return Replies(texts, truncated, shortened, cost, remarks(completions, spec.model))


def _shown(calls: FinishedCalls) -> TrackerLog:
    """Collect the counts by group, the errors and the run's files, for the tracker."""
    scalars = {
        f"{group}/{step}": float(getattr(counts, step))
        for group, counts in calls.metrics.groups.items()
        for step in STEPS
    }
    scalars |= {f"errors/{name}": float(count) for name, count in calls.metrics.errors.items()}
    return TrackerLog(scalars, [], [calls.folder / name for name in FILES])


def _final(final: FinalStates) -> list[str]:
    """Say what became of the recorded successes; nothing where the recording has none to look at.

    The scripts of an embedded domain have no reward, so that none of them is one.
    """
    if not final.dialogues:
        return []
    return [
        f"{final.dialogues} recorded dialogues with reward 1 change data: with the tool agent's own"
        f" writes {final.hashes} end in the same data and {final.rewards} keep their reward;"
        f" without any call {final.no_call} would"
    ]


def show_calls(calls: FinishedCalls, screen: Console) -> None:
    """Print the counts by group and by tool, the errors, the final states."""
    table, metrics = Table(), calls.metrics
    for name in ("", *STEPS):
        table.add_column(name.replace("_", " "), justify="right" if name else "left")
    for group in (metrics.groups, metrics.tools):
        for label, counts in group.items():
            table.add_row(label, *(str(getattr(counts, name)) for name in STEPS))
        table.add_section()
    screen.print(table)
    errors = ", ".join(f"{count} {name}" for name, count in metrics.errors.items() if count)
    final = metrics.final
    for line in (
        "json: the reply is one call; right tool: of the recorded tool; valid: its schema allows"
        " it; exact: equal to the recorded call",
        f"calls that are not exact, by their first error: {errors or 'none'}",
        f"{metrics.truncated} replies were cut at the length limit, {metrics.shortened} prompts"
        " show a part of the dialogue only",
        *_final(final),
        *([metrics.constrained] if metrics.constrained else []),
        f"run: {calls.folder}",
    ):
        say(screen, line)
