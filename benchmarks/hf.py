"""The transformers engine on an arm's prompts: what each part of its computation saves, and parity.

    python -m benchmarks.hf [--questions 4] [--repeats 3] [--new 64]
    python -m benchmarks.hf --parity [--rows 200] [--dtype float32]

The first takes turns between all parts on and each of them off, in one process; it prints the
seconds of the clock, and of the processor, which say more where others use the machine too (set
OMP_NUM_THREADS=1 there: threads that wait for each other take many times as long). The second
compares every reply with that of the prompt alone through transformers' own generate, and lists
each difference with the gap between the two most likely tokens at the first that differs.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from harness.completions import Request
from harness.engines.hf import HfEngine, HfSpec
from harness.models import locate
from harness.settings import resolve
from memtoc.arm import Arm, prepare
from memtoc.episodes import episodes, memory_request
from memtoc.rules import plan
from memtoc.settings import arm_settings

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Prints ratios, or parity."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--parity", action="store_true")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--dtype", choices=("bfloat16", "float32"))
    asked = parser.parse_args()
    if asked.parity:
        dtype = asked.dtype or "float32"
        requests = arm_requests(-(-asked.rows // 6), asked.new)[: asked.rows]
        say_parity(compare(opened(dtype), requests), len(requests), dtype)
    else:
        requests = arm_requests(asked.questions, asked.new)
        ratios(opened(asked.dtype or "bfloat16"), requests, asked.repeats)


def arm(questions: int) -> Arm:
    """The arm of evaluate.py's defaults over so many questions."""
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        overrides = [f"limit={questions}", "tracker=none", f"paths.cache={ROOT / '.cache'}"]
        config = plan(resolve(compose("evaluate", overrides))).config
    return prepare(arm_settings(config), config)


def arm_requests(questions: int, new: int) -> list[Request]:
    """Memory and tool prompts of an arm, by question; texts of at most ``new`` tokens."""
    found = arm(questions)
    rows = episodes(found.settings, found.questions)
    asked = [
        request
        for question in found.questions
        for request in (
            memory_request(found.settings, question),
            *(row.request for row in rows if row.question.id == question.id),
        )
    ]
    decoding = replace(asked[0].decoding, max_new_tokens=new)
    return list(dict.fromkeys(replace(request, decoding=decoding) for request in asked))


def opened(dtype: Any) -> HfEngine:
    """The embedded model on the default engine's settings."""
    found = arm(1)
    spec = found.settings.engine
    assert isinstance(spec, HfSpec)
    model = found.settings.model
    settings = replace(spec, dtype=dtype, device="cpu")
    return settings.open(model, locate(model, ROOT / ".cache"))


def ratios(engine: HfEngine, requests: Sequence[Request], repeats: int) -> None:
    """Prints how long each variant takes, as medians of turns."""
    variants = {
        "all on": on,
        "without shared prefixes": without_sharing,
        "without folded attention": without_folding,
        "without leaving rows": without_leaving,
        "transformers' own cache and attention": without_all,
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            with variant(engine):
                before = engine.counters
                clock, processor = time.perf_counter(), time.process_time()
                tokens = sum(reply.completion_tokens for reply in replies(engine, requests))
                spent[name].append((time.perf_counter() - clock, time.process_time() - processor))
                work = {key: value - before[key] for key, value in engine.counters.items()}
            print(f"  {name}: {spent[name][-1][0]:.1f} s, {tokens} new tokens, {work}", flush=True)
    medians = {
        name: [statistics.median(each) for each in zip(*turns, strict=True)]
        for name, turns in spent.items()
    }
    for name, (clock, processor) in medians.items():
        of_clock, of_processor = clock / medians["all on"][0], processor / medians["all on"][1]
        print(
            f"hf, {len(requests)} prompts, {name}: {clock:.1f} s, {of_clock:.2f} x;"
            f" processor {processor:.1f} s, {of_processor:.2f} x"
        )


def replies(engine: HfEngine, requests: Sequence[Request]) -> list[Any]:
    """The completions of all requests, in their order."""
    found = {
        index: reply
        for group in engine.run(requests, range(len(requests)))
        for index, reply in group.items()
    }
    return [found[index] for index in range(len(requests))]


@contextmanager
def on(engine: HfEngine) -> Iterator[None]:  # noqa: ARG001
    """Everything as it is."""
    yield


@contextmanager
def without_sharing(engine: HfEngine) -> Iterator[None]:  # noqa: ARG001
    """No two prompts have anything in common."""
    with mock.patch("harness.engines.prefixes.common", return_value=0):
        yield


@contextmanager
def without_folding(engine: HfEngine) -> Iterator[None]:
    """Attention as transformers has it; keys and values are copied once a row."""
    before = engine.model.config._attn_implementation
    engine.model.set_attn_implementation("sdpa")
    yield
    engine.model.set_attn_implementation(before)


@contextmanager
def without_leaving(engine: HfEngine) -> Iterator[None]:
    """Every row goes on to the last token that it may have."""
    with mock.patch.object(engine, "stop_ids", set()):
        yield


@contextmanager
def without_all(engine: HfEngine) -> Iterator[None]:
    """Left-padded batches of 4096 tokens, as before there were waves; rows still leave."""
    spec = replace(engine.spec, batch_tokens=4096)
    with (
        without_folding(engine),
        mock.patch.object(engine, "_masks", None),
        mock.patch.object(engine, "spec", spec),
    ):
        yield


@dataclass(frozen=True)
class Difference:
    """A row whose reply is another one alone: its first token that differs, the gap there.

    ``gap`` is that between the two most likely tokens of the prompt alone, in logits.
    """

    row: int
    token: int
    gap: float
    ours: str
    alone: str


def compare(engine: HfEngine, requests: Sequence[Request]) -> list[Difference]:
    """The rows whose reply differs from that of the prompt alone."""
    found = []
    for row, (request, reply) in enumerate(zip(requests, replies(engine, requests), strict=True)):
        with without_folding(engine):
            alone, gaps = generated(engine, request)
        text = engine.renderer.tokenizer.decode(alone, skip_special_tokens=True)
        if text != reply.text:
            ours = engine.renderer.tokenizer.encode(reply.text, add_special_tokens=False)
            pairs = enumerate(zip(ours, alone, strict=False))
            token = next((at for at, (a, b) in pairs if a != b), min(len(ours), len(alone) - 1))
            found.append(Difference(row, token, gaps[token], reply.text, text))
    return found


def generated(engine: HfEngine, request: Request) -> tuple[list[int], list[float]]:
    """The new tokens of a prompt alone through transformers' generate, and the gap at each."""
    import torch

    ids = torch.tensor([engine.renderer.token_ids(request.messages, request.tools)])
    out = engine.model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=request.decoding.max_new_tokens,
        do_sample=False,
        eos_token_id=sorted(engine.stop_ids),
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    gaps = []
    for logits in out.logits:
        first, second = logits[0].float().topk(2).values.tolist()
        gaps.append(first - second)
    return out.sequences[0, ids.shape[1] :].tolist(), gaps


def say_parity(differences: Sequence[Difference], rows: int, dtype: str) -> None:
    """The share of equal replies; in float32, every other one."""
    equal = rows - len(differences)
    print(f"{dtype}: {equal} of {rows} replies are those of the prompt alone ({equal / rows:.1%})")
    for it in differences if dtype == "float32" else ():
        print(f"  row {it.row}, token {it.token}, gap {it.gap:.2g}: {it.ours!r} / {it.alone!r}")


if __name__ == "__main__":
    main()
