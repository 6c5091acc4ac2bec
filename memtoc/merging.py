"""The shards of an arm joined into the whole arm: nothing generated, nothing missing or twice."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.completions import Completion, Request, from_row
from harness.errors import UserError
from harness.folders import RunFolder
from harness.generation import Backend
from memtoc.arm import Arm, EmptyShardError, prepare
from memtoc.episodes import episodes
from memtoc.settings import ArmSettings, Shard, arm_settings

Label = tuple[str, str]  # question id, condition


@dataclass(frozen=True)
class Recorded:
    """An engine that gives the shards' completions, failed ones too; others do not exist."""

    completions: Mapping[str, Completion]

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """All in one group."""
        yield {index: self.completions[requests[index].digest] for index in sorted(missing)}

    def close(self) -> None:
        """Nothing to give back."""


def merged(config: Mapping[str, Any], shards: int) -> Arm:
    """The whole arm of a canonical config, made ready to be evaluated from its shards' rows.

    Raises UserError where a shard is unfinished, or rows are missing or there twice.
    """
    whole = prepare(arm_settings(config), config)
    parts = [_part(whole.settings, config, Shard(part, shards)) for part in range(1, shards + 1)]
    arms = [part for part in parts if part is not None]
    memories = [_finished(_memory_folder(arm), arm) for arm in arms]
    folders = [_finished(Path(arm.settings.paths.runs) / arm.name, arm) for arm in arms]
    for arm, memory, folder in zip(arms, memories, folders, strict=True):
        rows_of_arm = episodes(arm.settings, arm.questions)
        _check(((q.id, "memory") for q in arm.questions), memory, arm, [memory, folder])
        _check(((r.question.id, r.condition) for r in rows_of_arm), folder, arm, [folder])
    assert sum(len(arm.questions) for arm in arms) == len(whole.questions)
    rows = [row for folder in (*memories, *folders) for row in folder.generations()]
    recorded = Recorded({row["request"]: from_row(row) for row in rows})
    backend = Backend(whole.backend.spec, whole.backend.model, whole.checkpoint, _engine=recorded)
    return replace(whole, backend=backend, merged_from=tuple(f.path.name for f in folders))


def _part(whole: ArmSettings, config: Mapping[str, Any], shard: Shard) -> Arm | None:
    """The arm of one shard; None where no question falls into it."""
    try:
        return prepare(replace(whole, shard=shard), {**config, "shard": str(shard)})
    except EmptyShardError:
        return None


def _memory_folder(arm: Arm) -> Path:
    return Path(arm.settings.paths.memories) / f"{arm.memory_slug}-{arm.memory_fingerprint[:8]}"


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
    """Raises UserError unless a shard's folder holds every row of the shard once, and no other.

    ``anew`` are the folders without which the shard is run again.
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
