"""An arm made ready to run: validated settings, its questions, the digests of what it names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.adapters import Adapter, read_adapter
from harness.completions import Request
from harness.errors import NothingToDoError, UserError, one_of
from harness.fingerprint import cosmetic_keys
from harness.generation import Backend, checkpoint_of, loaded
from harness.hashing import digest_of
from harness.models import Checkpoint
from harness.rendering import Renderer, audit
from harness.run import Run
from harness.seeds import generator
from memtoc.arms import ARM, MEMORY
from memtoc.episodes import sentinel_episodes
from memtoc.questions import Benchmark, Question
from memtoc.settings import ArmSettings
from memtoc.sources import label_of

# What a memory depends on: arms that agree in these, and in the adapter, share it.
MEMORY_PARTS = (
    "model",
    "engine",
    "benchmark",
    "formulation",
    "elicitation",
    "decoding",
    "limit",
    "ids",
    "shard",
    "seed",
)


class EmptyShardError(NothingToDoError):
    """No question falls into the shard: there is nothing to run, and a merge does without it."""


@dataclass(frozen=True)
class Arm:
    """Settings, the canonical config they came from, and what the run stands on.

    ``merged_from`` names the folders of the shards that the arm is put together from; ``sweep`` is
    the name of the sweep that it belongs to, if any.
    """

    settings: ArmSettings
    config: Mapping[str, Any]
    benchmark: Benchmark
    questions: tuple[Question, ...]
    checkpoint: Checkpoint | None
    backend: Backend
    adapter: Adapter | None = None
    merged_from: tuple[str, ...] = ()
    sweep: str = ""

    @cached_property
    def digests(self) -> dict[str, str | None]:
        """Return the digests of what the config names: weights, adapter, benchmark, engine."""
        return {
            "weights": self.backend.weights,
            "adapter": self.adapter.digest if self.adapter else None,
            "benchmark": self.benchmark.digest,
            "engine": digest_of(self.settings.engine.identity()),
        }

    @cached_property
    def run(self) -> Run:
        """Return the arm as a run: its folder and identity."""
        arm = self.settings
        speaker, benchmark = arm.engine.speaker(arm.model), label_of(arm.benchmark)
        parts = [speaker, benchmark, arm.formulation.name, arm.frame.name]
        parts += [arm.mitigation.name] * (arm.mitigation.instruction is not None)
        return replace(
            self._run(ARM, parts, Path(arm.paths.runs), self.config),
            tracker=arm.tracker,
            product="memtoc",
            sweep=self.sweep,
        )

    @cached_property
    def memory_run(self) -> Run:
        """Return the closed-book pass as a run, the same for all arms that share it."""
        arm = self.settings
        speaker, benchmark = arm.engine.speaker(arm.model), label_of(arm.benchmark)
        parts = [speaker, benchmark, arm.formulation.name, arm.elicitation.name]
        config = {"task": MEMORY, **{name: self.config[name] for name in MEMORY_PARTS}}
        return self._run(MEMORY, parts, Path(arm.paths.memories), config)

    def _run(self, kind: str, parts: Sequence[str], root: Path, config: Mapping[str, Any]) -> Run:
        shard, adapter = self.settings.shard, self.adapter
        marks = [adapter.name] if adapter else []
        marks += [f"{shard.part}of{shard.parts}"] if shard else []
        return Run(
            kind=kind,
            slug="-".join([*parts, *marks]),
            root=root,
            config=config,
            cosmetic=cosmetic_keys(ArmSettings),
            digests=self.digests,
            seed=self.settings.seed,
            backends={"model": self.backend},
            adapters={"model": (adapter.digest,)} if adapter else {},
        )

    def asked(self, request: Request) -> Request:
        """Return a request as this arm asks it: of the model with its adapter."""
        return replace(request, adapter=self.adapter) if self.adapter else request

    def audit(self) -> None:
        """Raise UserError where the model's template swallows a part of any prompt."""
        if self.checkpoint is None:
            return
        renderer = Renderer(self.settings.model, self.checkpoint.folder)
        for row, sentinels in sentinel_episodes(self.settings):
            audit(renderer, row.request.messages, sentinels)

    def about(self) -> dict[str, Any]:
        """Return what only the manifest of an arm or a memory says."""
        merged = {"merged_from": list(self.merged_from)} if self.merged_from else {}
        return {"benchmark": dict(self.benchmark.notes), "questions": len(self.questions), **merged}


def prepare(settings: ArmSettings, config: Mapping[str, Any], sweep: str = "") -> Arm:
    """Load the benchmark, find the checkpoint, read the adapter; no weights are loaded.

    A dry run fetches no checkpoint and does without one that is not here. Raises UserError for a
    benchmark row, model or adapter that cannot be used.
    """
    benchmark = settings.benchmark.load()
    questions = select(benchmark, settings)
    cache = Path(settings.paths.cache)
    checkpoint = checkpoint_of(settings.engine, settings.model, cache, settings.dry_run)
    backend = loaded(settings.engine, settings.model, checkpoint)
    folder = settings.mitigation.adapter
    adapter = read_adapter(Path(folder).expanduser()) if folder else None
    return Arm(settings, config, benchmark, questions, checkpoint, backend, adapter, sweep=sweep)


def select(benchmark: Benchmark, settings: ArmSettings) -> tuple[Question, ...]:
    """Return the questions of ``ids``, or a seeded sample of ``limit``, in canonical order.

    A larger limit keeps the questions of a smaller one; a shard is a part of what is left. Raises
    UserError for an unknown id, EmptyShardError for a shard without a question.
    """
    chosen = _chosen(benchmark, settings)
    if settings.shard is None:
        return chosen
    part = tuple(question for question in chosen if settings.shard.holds(question.id))
    if not part:
        raise EmptyShardError(
            f"shard={settings.shard} holds none of {len(chosen)} questions: nothing to do"
            " (--config-name=merge does without it)"
        )
    return part


def _chosen(benchmark: Benchmark, settings: ArmSettings) -> tuple[Question, ...]:
    questions: Sequence[Question] = benchmark.questions
    if settings.ids is not None:
        questions = _named(benchmark, settings.ids)
    if settings.limit is None or settings.limit >= len(questions):
        return tuple(questions)
    drawn = sorted(questions, key=lambda q: generator(settings.seed, "limit", q.id).random())
    chosen = {question.id for question in drawn[: settings.limit]}
    return tuple(question for question in questions if question.id in chosen)


def _named(benchmark: Benchmark, ids: Sequence[str]) -> list[Question]:
    known = {question.id for question in benchmark.questions}
    for name in ids:
        if name not in known:
            raise UserError(
                f"ids: benchmark '{benchmark.name}' has no question '{name}': {one_of(known, name)}"
            )
    return [question for question in benchmark.questions if question.id in ids]
