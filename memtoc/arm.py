"""An arm made ready to run: validated settings, its questions, the digests of what it names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.environment import environment
from harness.errors import UserError, one_of
from harness.fingerprint import fingerprint
from harness.generation import Backend, resident
from harness.hashing import digest_of
from harness.models import Checkpoint, NotHereError, locate
from harness.rendering import Renderer, audit
from harness.seeds import generator
from memtoc.episodes import sentinel_episodes
from memtoc.questions import Benchmark, Question
from memtoc.settings import ArmSettings

# What a memory depends on: arms that agree in these share it.
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


class EmptyShardError(UserError):
    """There are more shards than the questions fill."""


@dataclass(frozen=True)
class Arm:
    """Settings, the canonical config they came from, and what the run stands on.

    ``merged_from`` names the folders of the shards that the arm is put together from.
    """

    settings: ArmSettings
    config: Mapping[str, Any]
    benchmark: Benchmark
    questions: tuple[Question, ...]
    checkpoint: Checkpoint | None
    backend: Backend
    merged_from: tuple[str, ...] = ()

    @property
    def digests(self) -> dict[str, str]:
        """Digests of what the config names: weights, benchmark, resolved engine."""
        return {
            "weights": self.backend.weights,
            "benchmark": self.benchmark.digest,
            "engine": digest_of(self.settings.engine.identity()),
        }

    @property
    def fingerprint(self) -> str:
        """Identity of the arm."""
        return fingerprint(self.config, self.digests)

    @property
    def name(self) -> str:
        """The name of the arm's folder; without its hash where the weights are not here."""
        unknown = self.settings.engine.reads_weights and self.checkpoint is None
        return self.slug if unknown else f"{self.slug}-{self.fingerprint[:8]}"

    @property
    def slug(self) -> str:
        """Model, benchmark, formulation, frame and mitigation, for people."""
        arm = self.settings
        parts = [arm.model.name, arm.benchmark.name, arm.formulation.name, arm.frame.name]
        parts += [arm.mitigation.name] * (arm.mitigation.instruction is not None)
        return "-".join(parts + _part(arm))

    def audit(self) -> None:
        """Raises UserError where the model's template swallows a part of any prompt."""
        if self.checkpoint is None:
            return
        renderer = Renderer(self.settings.model, self.checkpoint.folder)
        for row, sentinels in sentinel_episodes(self.settings):
            audit(renderer, row.request.messages, sentinels)

    def facts(self) -> dict[str, Any]:
        """What a manifest says of the arm's make: digests, resolved weights, surroundings."""
        return {
            "digests": self.digests,
            "model_revision": self.checkpoint.revision if self.checkpoint else None,
            "engine": self.backend.facts(),
            "benchmark": dict(self.benchmark.notes),
            "questions": len(self.questions),
            "seed": self.settings.seed,
            **({"merged_from": list(self.merged_from)} if self.merged_from else {}),
            **environment(),
        }

    @property
    def memory_config(self) -> dict[str, Any]:
        """The part of the config that identifies the memory."""
        return {"task": "memory", **{name: self.config[name] for name in MEMORY_PARTS}}

    @property
    def memory_fingerprint(self) -> str:
        """Identity of the memory."""
        return fingerprint(self.memory_config, self.digests)

    @property
    def memory_slug(self) -> str:
        """Model, benchmark, formulation and elicitation, for people."""
        arm = self.settings
        parts = [arm.model.name, arm.benchmark.name, arm.formulation.name, arm.elicitation.name]
        return "-".join(parts + _part(arm))


def _part(arm: ArmSettings) -> list[str]:
    return [f"{arm.shard.part}of{arm.shard.parts}"] if arm.shard else []


def prepare(settings: ArmSettings, config: Mapping[str, Any]) -> Arm:
    """Loads the benchmark and finds the checkpoint; no weights are read.

    A dry run fetches no checkpoint and does without one that is not here. Raises UserError for a
    benchmark row or model that cannot be used.
    """
    benchmark = settings.benchmark.load()
    questions = select(benchmark, settings)
    checkpoint = None
    if settings.engine.reads_weights and not settings.dry_run:
        checkpoint = locate(settings.model, Path(settings.paths.cache))
    elif settings.engine.reads_weights:
        checkpoint = _if_here(settings)
    backend = resident(settings.engine, settings.model, checkpoint)
    return Arm(settings, config, benchmark, questions, checkpoint, backend)


def _if_here(settings: ArmSettings) -> Checkpoint | None:
    try:
        return locate(settings.model, Path(settings.paths.cache), fetch=False)
    except NotHereError:
        return None


def select(benchmark: Benchmark, settings: ArmSettings) -> tuple[Question, ...]:
    """The questions named by ``ids``, or a seeded sample of ``limit``, in canonical order.

    A larger limit keeps the questions of a smaller one; a shard is a part of what is left. Raises
    UserError for an unknown id and for a shard without a question.
    """
    chosen = _chosen(benchmark, settings)
    if settings.shard is None:
        return chosen
    part = tuple(question for question in chosen if settings.shard.holds(question.id))
    if not part:
        raise EmptyShardError(
            f"shard={settings.shard} holds none of {len(chosen)} questions: leave it out"
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
