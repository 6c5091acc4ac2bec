"""The transformers engine: waves of prompts along their prefix tree, on a CPU or one GPU."""

import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from harness.completions import ChoiceScore, Completion, Request, failed
from harness.engines.base import EngineSpec
from harness.engines.batches import WAVE_TOKENS, plan_batches, plan_scores
from harness.engines.decode import Ended, Pick, SeededSampling, Work, decode, greedy
from harness.engines.fitting import fit
from harness.engines.grammar import Grammars, SchemaMask, library_version
from harness.engines.library import library_decode
from harness.engines.lora import Adapters
from harness.engines.scores import score_choices
from harness.errors import RunFailedError, UserError
from harness.fingerprint import COSMETIC
from harness.models import Checkpoint, ModelSpec
from harness.rendering import Renderer

if TYPE_CHECKING:
    import torch

# Counts up when our own part of the computation changes, since bf16 texts then change with it,
# and the cache shall not mix them with older ones. 2: prefix trees, folded attention, waves.
DECODING = 2
GPU_WAVE_TOKENS = 16 * WAVE_TOKENS  # a GPU writes them sooner, and is idle with few rows


@dataclass(frozen=True)
class HfSpec(EngineSpec):
    """``batch_tokens`` bounds rows x longest prompt, and distinct prompt tokens, of what is in
    memory at once; ``device`` is cpu, cuda or auto.

    ``dtype`` auto is bfloat16 where the GPU or the CPU computes in it, else float32.
    """

    kind: Literal["hf"]
    dtype: Literal["auto", "bfloat16", "float32"]
    batch_tokens: Annotated[int, Field(ge=1)]
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$"), COSMETIC]

    reads_weights: ClassVar[bool] = True
    supports_schema: ClassVar[bool] = True
    supports_adapters: ClassVar[bool] = True
    scores: ClassVar[bool] = True

    def identity(self) -> dict[str, Any]:
        """Return kind and precision."""
        return {"kind": self.kind, "dtype": self.precision()}

    def version(self) -> str:
        """Return the versions of both libraries that compute, and of our own computation."""
        libraries = f"transformers {version('transformers')}, torch {version('torch')}"
        return f"{libraries}, decoding {DECODING}"

    def grammar_version(self) -> str:
        """Return the version of the library that holds replies to their schemas."""
        return library_version()

    def precision(self) -> str:
        """Return the precision in torch's words. Reads the machine's files, not torch."""
        if self.dtype != "auto":
            return self.dtype
        gpu = self.device.startswith("cuda") or (self.device == "auto" and _gpu_is_there())
        return "bfloat16" if gpu or _cpu_has_bfloat16() else "float32"

    def open(self, model: ModelSpec, checkpoint: Checkpoint | None) -> "HfEngine":
        """Load the weights."""
        assert checkpoint is not None
        return HfEngine(self, model, checkpoint)


def _gpu_is_there() -> bool:
    return Path("/dev/nvidia0").exists()


def _cpu_has_bfloat16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


class HfEngine:
    """A loaded model."""

    def __init__(self, spec: HfSpec, model: ModelSpec, checkpoint: Checkpoint) -> None:
        """Read tokenizer and weights; raises UserError where transformers cannot."""
        import torch

        self.spec = spec
        self.renderer = Renderer(model, checkpoint.folder)
        self.device = _device(spec.device)
        self.model = _load(model, checkpoint.folder, getattr(torch, spec.precision()), self.device)
        self.stop_ids = _stop_ids(self.model, self.renderer.tokenizer)
        self.work = Work()
        with torch.inference_mode():
            self._masks = fit(self.model)
        self._adapters = Adapters(self.model)
        self._grammars: Grammars | None = None

    @property
    def counters(self) -> dict[str, int]:
        """Return what was computed so far: prompt tokens, steps, rows x steps."""
        return asdict(self.work)

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Give the missing completions, a wave of the plan at a time.

        The plan follows from all requests. A wave of which any row is missing is computed as a
        whole, also rows that are there already: the bits of a bfloat16 text depend on the rows
        that are computed beside it, and so a continued run gives the bytes of a whole one.
        A wave that outgrows the memory is halved, which may change bits but no row's meaning.
        """
        prompts = [self.renderer.token_ids(request.messages, request.tools) for request in requests]
        fits = [i for i in range(len(requests)) if self._fits(prompts[i], requests[i])]
        for index in sorted(set(missing).difference(fits)):
            yield {index: failed(f"prompt of {len(prompts[index])} tokens exceeds the context")}
        budget = WAVE_TOKENS if self.model.device.type == "cpu" else GPU_WAVE_TOKENS
        for wave in plan_batches(requests, prompts, fits, self.spec.batch_tokens, budget):
            if not set(missing).isdisjoint(wave):
                found = self._wave(requests, prompts, wave)
                yield {index: found[index] for index in wave if index in missing}

    def _fits(self, prompt: Sequence[int], request: Request) -> bool:
        return len(prompt) + request.decoding.max_new_tokens <= self._context()

    def _context(self) -> float:
        """Return how many tokens the model reads at most, as its config says."""
        config = self.model.config.get_text_config(decoder=True)
        context = getattr(config, "max_position_embeddings", None)
        return inf if context is None else int(context)

    def score(
        self,
        requests: Sequence[Request],
        choices: Sequence[Sequence[str]],
        missing: Collection[int],
    ) -> Iterator[Mapping[int, tuple[ChoiceScore, ...]]]:
        """Give log-probabilities of each missing request's choices, a group at a time.

        ``choices[i]`` are continuations of the rendered prompt of ``requests[i]``. A choice is
        tokenised apart from the prompt, without special tokens, so that every choice follows the
        same prompt tokens; it is scored as written (a leading space counts), its end is not.
        Groups follow from all requests, and are computed whole or not at all, as in ``run``.
        Raises UserError for a choice without tokens, or one that exceeds the context.
        """
        prompts = [self.renderer.token_ids(request.messages, request.tools) for request in requests]
        asked = [
            [self._choice(prompt, index, text) for text in texts]
            for index, (prompt, texts) in enumerate(zip(prompts, choices, strict=True))
        ]
        sizes = [len(p) + sum(map(len, ids)) for p, ids in zip(prompts, asked, strict=True)]
        for group in plan_scores(requests, prompts, sizes, self.spec.batch_tokens):
            if not set(missing).isdisjoint(group):
                self._adapters.use(requests[group[0]].adapter)
                found = self._score_group([(prompts[i], asked[i]) for i in group])
                yield {i: row for i, row in zip(group, found, strict=True) if i in missing}

    def _choice(self, prompt: Sequence[int], index: int, text: str) -> list[int]:
        ids: list[int] = self.renderer.tokenizer.encode(text, add_special_tokens=False)
        if not ids:
            raise UserError(f"request {index}: choice {text!r} has no tokens: leave it out")
        if len(prompt) + len(ids) > self._context():
            raise UserError(
                f"request {index}: a prompt of {len(prompt)} tokens with choice {text[:40]!r}"
                f" ({len(ids)} tokens) exceeds the context of {self._context()}: shorten it"
            )
        return ids

    def _score_group(
        self, group: Sequence[tuple[list[int], list[list[int]]]]
    ) -> list[tuple[ChoiceScore, ...]]:
        import torch

        pairs = [(prompt, choice) for prompt, choices in group for choice in choices]
        try:
            with torch.inference_mode():
                scores = iter(score_choices(self.model, self._masks, pairs, self.work))
            return [tuple(islice(scores, len(choices))) for _, choices in group]
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(group) == 1:
                raise RunFailedError(
                    f"model '{self.renderer.spec.name}': out of memory on the choices of one"
                    " request: ask for fewer, or lower engine.batch_tokens"
                ) from error
        _free_memory()
        half = len(group) // 2
        return self._score_group(group[:half]) + self._score_group(group[half:])

    def _wave(
        self, requests: Sequence[Request], prompts: Sequence[list[int]], wave: Sequence[int]
    ) -> dict[int, Completion]:
        try:
            replies = self._generate([requests[i] for i in wave], [prompts[i] for i in wave])
            return dict(zip(wave, replies, strict=True))
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(wave) == 1:
                return {wave[0]: failed("out of memory on one row: lower max_new_tokens")}
        _free_memory()
        half = len(wave) // 2
        return {
            **self._wave(requests, prompts, wave[:half]),
            **self._wave(requests, prompts, wave[half:]),
        }

    def _generate(
        self, requests: Sequence[Request], prompts: Sequence[list[int]]
    ) -> list[Completion]:
        import torch

        decoding, stop = requests[0].decoding, requests[0].stop
        pick: Pick = greedy
        if decoding.temperature > 0:
            seeds = [request.seed for request in requests]
            pick = SeededSampling(decoding.temperature, seeds)
        self._adapters.use(requests[0].adapter)
        schemas = self._schema_mask(requests, pick)

        def ended(at: int, row: Sequence[int]) -> bool:
            return (schemas is not None and schemas.over(at)) or self._ends(row, stop)

        with torch.inference_mode():
            rows = self._decode(prompts, decoding.max_new_tokens, schemas or pick, ended)
        return [
            self._completion(at, row, len(prompt), stop, schemas)
            for at, (row, prompt) in enumerate(zip(rows, prompts, strict=True))
        ]

    def _decode(
        self, prompts: Sequence[list[int]], new: int, pick: Pick, ended: Ended
    ) -> list[list[int]]:
        if self._masks is None:
            return library_decode(self.model, prompts, new, pick, ended, self.work)
        return decode(self.model, self._masks, prompts, new, pick, ended, self.work)

    def _schema_mask(self, requests: Sequence[Request], pick: Pick) -> SchemaMask | None:
        """Return the pick within the schemas of the requests that have one; None where none has."""
        if all(request.schema is None for request in requests):
            return None
        if self._grammars is None:
            width = self.model.config.get_text_config().vocab_size
            try:
                self._grammars = Grammars(self.renderer.tokenizer, width, self.stop_ids)
            except ValueError as error:
                raise UserError(
                    f"model '{self.renderer.spec.name}': its tokenizer does not work with"
                    f" {library_version()} ({error}): ask it for no schema, or take another model"
                ) from error
        matcher = self._grammars.matcher
        matchers = [None if r.schema is None else matcher(r.schema) for r in requests]
        return SchemaMask(pick, matchers)

    def _ends(self, row: Sequence[int], stop: Sequence[str]) -> bool:
        if row[-1] in self.stop_ids:
            return True
        return bool(stop) and _first_stop(self._text(row), stop) is not None

    def _text(self, row: Sequence[int]) -> str:
        return str(self.renderer.tokenizer.decode(row, skip_special_tokens=True))

    def _completion(
        self,
        at: int,
        row: list[int],
        prompt_tokens: int,
        stop: Sequence[str],
        schemas: SchemaMask | None,
    ) -> Completion:
        if schemas is not None and (reason := schemas.failure(at)):
            return failed(reason)
        ended = row[-1] in self.stop_ids
        text = self._text(row[:-1] if ended else row)
        cut = _first_stop(text, stop)
        whole = ended or cut is not None or (schemas is not None and schemas.over(at))
        return Completion(text[:cut], "stop" if whole else "length", prompt_tokens, len(row))

    def close(self) -> None:
        """Drop the weights, so that another model can take their place."""
        del self.model
        _free_memory()


def _first_stop(text: str, stop: Sequence[str]) -> int | None:
    return min((at for word in stop if (at := text.find(word)) >= 0), default=None)


def _is_out_of_memory(error: Exception) -> bool:
    import torch

    on_cpu = isinstance(error, MemoryError) or "allocate memory" in str(error).lower()
    return on_cpu or isinstance(error, torch.OutOfMemoryError)


def _free_memory() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _device(wanted: str) -> str:
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"engine.device={wanted}: torch sees no GPU: set engine.device=cpu")
    return wanted


def _load(model: ModelSpec, folder: Path, dtype: "torch.dtype", device: str) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        loaded = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, trust_remote_code=False
        )
    except Exception as error:
        if _is_out_of_memory(error):
            raise RunFailedError(
                f"model '{model.name}' does not fit into memory: free some, or take a smaller one"
            ) from error
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"model '{model.name}': {folder} cannot be loaded ({reason[:160]}): "
            "set model.path to a checkpoint that transformers reads"
        ) from error
    return loaded.to(device).eval()


def _stop_ids(model: Any, tokenizer: Any) -> set[int]:
    """Return every token that ends a turn, by the generation settings or the tokenizer."""
    stored = model.generation_config.eos_token_id
    ids = set(stored if isinstance(stored, list) else [] if stored is None else [stored])
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    return ids
