"""The memory pass: what the model answers with no tool at hand.

A memory is an artifact of its own, shared by every arm of the same model, adapter, engine,
benchmark, formulation, elicitation, decoding and choice of questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.cache import GenerationCache
from harness.completions import Completion
from harness.folders import RunFolder
from harness.hashing import digest_of
from harness.passes import Row, check_empties, check_errors, read_pass, run_pass
from harness.remarks import remarks
from harness.run import Produced, execute
from harness.tracking import TrackerLog
from memtoc.arm import Arm
from memtoc.arms import FinishedMemory
from memtoc.episodes import memory_request
from memtoc.scored import read_memory
from memtoc.scoring import scorer_name


@dataclass(frozen=True)
class Memories:
    """Closed-book completions by question id, and the folder that holds them.

    ``digest`` is over their texts: arms with equal digests share their cells. ``notes`` say what
    the replies were like.
    """

    folder: Path
    digest: str
    completions: Mapping[str, Completion]
    notes: tuple[str, ...]


def elicit(arm: Arm, cache: GenerationCache) -> Memories:
    """Read a finished memory folder, or ask the model and leave one.

    Raises RunFailedError where too many rows failed; the folder can then be continued.
    """
    rows = [
        Row(
            {"id": question.id, "condition": "memory"},
            arm.asked(memory_request(arm.settings, question)),
        )
        for question in arm.questions
    ]

    def work(folder: RunFolder) -> Produced:
        completions, counts = run_pass("memory", rows, folder, arm.backend, cache, arm.audit)
        check_errors(completions, arm.settings.report.max_error_rate)
        check_empties(completions, arm.settings.report.max_empty_rate)
        scoring = arm.settings.scoring
        read = zip(arm.questions, completions, strict=True)
        scored = [asdict(read_memory(question, reply, scoring)) for question, reply in read]
        folder.write_rows("memories.jsonl", scored)
        notes = [f"memory: {line}" for line in remarks(completions, arm.settings.model)]
        return Produced(counts.as_row(), {**arm.about(), "scorer": scorer_name(scoring)}, notes)

    def load(folder: Path) -> Sequence[Completion]:
        completions = read_pass(rows, RunFolder(folder), arm.backend, cache)
        FinishedMemory.load(folder)
        return completions

    done = execute(arm.memory_run, work, load, lambda _: TrackerLog({}, [], []))
    by_id = {question.id: reply for question, reply in zip(arm.questions, done.result, strict=True)}
    texts = {name: reply.text for name, reply in by_id.items()}
    return Memories(done.run.folder, digest_of(texts), by_id, done.notes)
