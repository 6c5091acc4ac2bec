"""The memory pass: what the model answers with no tool at hand.

A memory is an artifact of its own, shared by every arm of the same model, engine, benchmark,
formulation, elicitation, decoding and choice of questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cache import GenerationCache
from harness.completions import Completion
from harness.folders import RunFolder, open_folder
from harness.hashing import digest_of
from harness.passes import Row, check_errors, counts_row, read_pass, run_pass
from memtoc.arm import Arm
from memtoc.episodes import memory_request
from memtoc.questions import Question
from memtoc.scored import read_memory
from memtoc.scoring import SCORER_VERSION


@dataclass(frozen=True)
class Memories:
    """Closed-book completions by question id.

    ``digest`` is over their texts: arms with equal digests share their cells.
    """

    folder: Path
    digest: str
    completions: Mapping[str, Completion]


def elicit(arm: Arm, cache: GenerationCache) -> Memories:
    """Reads a finished memory folder, or asks the model and leaves one.

    Raises RunFailedError where too many rows failed; the folder can then be continued.
    """
    rows = [
        Row({"id": question.id, "condition": "memory"}, memory_request(arm.settings, question))
        for question in arm.questions
    ]
    root = Path(arm.settings.paths.memories)
    with open_folder(root, arm.memory_slug, arm.memory_fingerprint, arm.memory_config) as folder:
        if folder.done:
            completions = read_pass(rows, folder, arm.backend, cache)
        else:
            completions, counts = run_pass("memory", rows, folder, arm.backend, cache, arm.audit)
            check_errors(completions, arm.settings.report.max_error_rate)
            _write(folder, arm, completions, counts_row(counts, arm.backend))
    by_id = {question.id: reply for question, reply in zip(arm.questions, completions, strict=True)}
    return Memories(folder.path, _digest(by_id), by_id)


def _digest(completions: Mapping[str, Completion]) -> str:
    return digest_of({name: reply.text for name, reply in completions.items()})


def _write(
    folder: RunFolder, arm: Arm, completions: Sequence[Completion], counts: Mapping[str, Any]
) -> None:
    rows = [
        _row(question, reply) for question, reply in zip(arm.questions, completions, strict=True)
    ]
    folder.write_rows("memories.jsonl", rows)
    folder.finish({**arm.facts(), "counts": dict(counts), "scorer": SCORER_VERSION})


def _row(question: Question, reply: Completion) -> dict[str, Any]:
    return {"id": question.id, **asdict(read_memory(question, reply))}
