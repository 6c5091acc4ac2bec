"""What is handed to a peer's process and what comes back.

Runs in every peer's environment, so it imports nothing beside the standard library.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Prompt:
    """A row of the arm; ``text`` is what ``token_ids`` spell, special tokens included."""

    id: str
    condition: str
    text: str
    token_ids: list[int]


@dataclass(frozen=True)
class Job:
    """The prompts, and the checkpoint folder and limits that every peer answers them under.

    ``warm_up`` is none of the prompts: each peer answers it once before the clock starts.
    """

    model: str
    dtype: str
    max_new_tokens: int
    warm_up: Prompt
    prompts: list[Prompt]

    def write(self, path: Path) -> None:
        """Writes the job for ``Job.read``."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Job":
        """Returns what ``write`` wrote."""
        row = json.loads(path.read_text(encoding="utf-8"))
        row["warm_up"] = Prompt(**row["warm_up"])
        row["prompts"] = [Prompt(**prompt) for prompt in row["prompts"]]
        return cls(**row)


@dataclass(frozen=True)
class Timing:
    """One run of a peer: seconds to load, seconds to answer, the answers in the job's order."""

    load_s: float
    seconds: float
    texts: list[str]
    versions: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "Timing":
        """Returns what ``serve`` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


Generate = Callable[[Sequence[Prompt]], list[str]]


def serve(load: Callable[[Job, int], Generate], packages: Sequence[str]) -> None:
    """Loads a peer, answers the job named on the command line, writes the Timing beside it.

    ``load`` gets the job and the setting of the peer's own knob (0 where it has none) and returns
    the function that is timed.
    """
    parser = argparse.ArgumentParser(description=serve.__doc__)
    parser.add_argument("job", type=Path)
    parser.add_argument("timing", type=Path)
    parser.add_argument("--setting", type=int, default=0)
    given = parser.parse_args()
    job = Job.read(given.job)
    started = time.perf_counter()
    generate = load(job, given.setting)
    loaded = time.perf_counter()
    generate([job.warm_up])  # The first call imports, compiles and allocates.
    begun = time.perf_counter()
    texts = generate(job.prompts)
    seconds = time.perf_counter() - begun
    timing = Timing(loaded - started, seconds, texts, {name: version(name) for name in packages})
    given.timing.write_text(json.dumps(asdict(timing)), encoding="utf-8")
