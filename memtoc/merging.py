"""Join the finished shards of an arm into the whole arm, from the texts that they hold."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.completions import Completion, Request, from_row
from harness.errors import UserError
from harness.folders import RunFolder
from harness.generation import Backend
from harness.outcomes import Command, Outcome, Plan
from memtoc import rules
from memtoc.arm import Arm, EmptyShardError, prepare
from memtoc.arms import ARM, FinishedArm, FinishedMemory, Label
from memtoc.episodes import episodes
from memtoc.evaluation import run_prepared
from memtoc.settings import MOST_SHARDS, ArmSettings, Shard


@dataclass(frozen=True)
class MergeSettings:
    """The whole arm, and the number of shards that it is joined from."""

    arm: ArmSettings
    shards: int


@dataclass(frozen=True)
class Recorded:
    """An engine that replays the completions of the shards, failed ones too."""

    completions: Mapping[str, Completion]

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Yield all completions in one group."""
        yield {index: self.completions[requests[index].digest] for index in sorted(missing)}

    def close(self) -> None:
        """Do nothing: a recording holds no resource."""


def plan_merge(config: dict[str, Any]) -> Plan[MergeSettings]:
    """Return the plan of the whole arm, with the number of shards that it is joined from."""
    arm = {name: part for name, part in config.items() if name != "shards"}
    shards = config.get("shards")
    if not isinstance(shards, int) or not 2 <= shards <= MOST_SHARDS:
        raise UserError(f"shards={shards}: give the number of shards, from 2 to {MOST_SHARDS}")
    if config.get("shard") is not None:
        raise UserError("shard is for the arms that are joined: leave it out, and set shards=n")
    planned = rules.plan({**arm, "task": ARM})
    return Plan(
        {**planned.config, "task": "merge", "shards": shards},
        MergeSettings(planned.settings, shards),
        planned.loaded,
        planned.notes,
        planned.dropped,
    )


def run_merge(plan: Plan[MergeSettings]) -> Outcome:
    """Evaluate the whole arm from the rows of its finished shards."""
    config = {name: part for name, part in plan.config.items() if name != "shards"}
    whole = prepare(plan.settings.arm, {**config, "task": ARM}, plan.sweep)
    return run_prepared(merged(whole, plan.settings.shards))


MERGE = Command(MergeSettings, plan_merge, run_merge)


def merged(whole: Arm, shards: int) -> Arm:
    """Return the whole arm with an engine that gives the rows of its shards.

    Raises UserError where a shard is unfinished, or rows are missing or there twice.
    """
    parts = [_part(whole, Shard(part, shards)) for part in range(1, shards + 1)]
    arms = [part for part in parts if part is not None]
    memories = [_finished(arm.memory_run.folder, arm) for arm in arms]
    folders = [_finished(arm.run.folder, arm) for arm in arms]
    for arm, memory, folder in zip(arms, memories, folders, strict=True):
        rows_of_arm = episodes(arm.settings, arm.questions)
        _check(((q.id, "memory") for q in arm.questions), memory, arm, [memory, folder])
        _check(((r.question.id, r.condition) for r in rows_of_arm), folder, arm, [folder])
        FinishedMemory.load(memory.path)
        FinishedArm.load(folder.path)
    assert sum(len(arm.questions) for arm in arms) == len(whole.questions)
    rows = [row for folder in (*memories, *folders) for row in folder.generations()]
    recorded = Recorded({row["request"]: from_row(row) for row in rows})
    backend = Backend(whole.backend.spec, whole.backend.model, whole.checkpoint, _engine=recorded)
    return replace(whole, backend=backend, merged_from=tuple(f.path.name for f in folders))


def _part(whole: Arm, shard: Shard) -> Arm | None:
    """Return the arm of one shard; None if no question falls into it."""
    try:
        settings = replace(whole.settings, shard=shard)
        return prepare(settings, {**whole.config, "shard": str(shard)})
    except EmptyShardError:
        return None


def _finished(path: Path, shard: Arm) -> RunFolder:
    folder = RunFolder(path)
    if not folder.done:
        raise UserError(
            f"shard {shard.settings.shard}: {path} is not there or not finished:"
            f" run the same settings with shard={shard.settings.shard}"
        )
    return folder


def _check(
    wanted: Iterable[Label], folder: RunFolder, shard: Arm, anew: Sequence[RunFolder]
) -> None:
    """Raise UserError unless a shard's folder holds every row of the shard once, and no other.

    ``anew`` are the folders to move away so that the shard is run again.
    """
    labels = Counter(wanted)
    held = Counter((str(row.get("id")), str(row.get("condition"))) for row in folder.generations())
    for words, wrong in (
        ("is missing", labels - held),
        ("is there twice or is of another arm", held - labels),
    ):
        if wrong:
            name, condition = next(iter(wrong))
            part, away = shard.settings.shard, " and ".join(str(one.path) for one in anew)
            raise UserError(
                f"shard {part}: {folder.path}: the row of question {name} under {condition}"
                f" {words}, and {wrong.total() - 1} more: move {away} away and run the same"
                f" settings with shard={part}"
            )
