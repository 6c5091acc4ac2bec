"""Decoding a wave: prompts along their prefix tree, then rows token by token.

A row leaves as soon as its text ends, since the cost of a step grows with the rows in it and
replies differ in length many times over.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.engines.attention import FOLDED, LayerMasks
from harness.engines.kv import RowCache, TreeCache
from harness.engines.prefixes import tree_of

if TYPE_CHECKING:
    import numpy as np
    import torch

Ended = Callable[[int, Sequence[int]], bool]
Pick = Callable[["torch.Tensor", Sequence[int]], "torch.Tensor"]

# Tokens in one pass over prompts. More of them see more of each other's keys in vain; below
# about 200, a pass is dominated by what it costs at any length.
CHUNK = 256


@dataclass
class Work:
    """What an engine has computed: tokens of prompts, steps, and tokens (rows x steps) in those."""

    prefilled: int = 0
    steps: int = 0
    decoded: int = 0


def prefill(
    model: Any, cache: TreeCache, wanted: "np.ndarray", work: Work
) -> "Iterator[tuple[np.ndarray, torch.Tensor]]":
    """Compute a tree's keys and values, and yield the logits after the ``wanted`` places (sorted).

    Gives places and logits (places x vocabulary) a chunk of the tree at a time.
    """
    import torch

    for chunk in cache.tree.chunks(CHUNK):
        here = wanted[(wanted >= chunk.start) & (wanted < chunk.end)]
        keep = torch.as_tensor(here - chunk.start, device=cache.device) if len(here) else 1
        logits = model(**cache.open(chunk, model.dtype), use_cache=True, logits_to_keep=keep).logits
        work.prefilled += chunk.end - chunk.start
        if len(here):
            yield here, logits[0]


def decode(
    model: Any,
    masks: LayerMasks,
    prompts: Sequence[list[int]],
    max_new_tokens: int,
    pick: Pick,
    ended: Ended,
    work: Work,
) -> list[list[int]]:
    """Return the new token ids of each prompt.

    ``pick`` turns logits (rows x vocabulary) and the numbers of the rows in it into token ids;
    ``ended`` looks at a row's number and new ids after each token.
    """
    import torch

    tree = TreeCache(tree_of(prompts), masks, str(model.device))
    written = [[token] for token in _first_tokens(model, tree, pick, work)]

    def goes_on(row: int) -> bool:
        return len(written[row]) < max_new_tokens and not ended(row, written[row])

    rows = [row for row in range(len(prompts)) if goes_on(row)]
    if not rows:
        return written
    folded = model.config._attn_implementation == FOLDED
    cache = RowCache(tree, [tree.tree.paths[row] for row in rows], stems=folded)
    del tree
    while rows:
        last = torch.tensor([written[row][-1] for row in rows], device=model.device)
        logits = model(**cache.open(last), use_cache=True, logits_to_keep=1).logits[:, -1]
        cache.close()
        work.steps += 1
        work.decoded += len(rows)
        for row, token in zip(rows, pick(logits, rows).tolist(), strict=True):
            written[row].append(token)
        for at in reversed(range(len(rows))):
            if not goes_on(rows[at]):
                cache.leave(at)
                rows[at] = rows[-1]
                rows.pop()
    return written


def _first_tokens(model: Any, cache: TreeCache, pick: Pick, work: Work) -> list[int]:
    """Return the token that follows each prompt."""
    import numpy as np
    import torch

    ends = np.array([path[-1] for path in cache.tree.paths])
    places = np.unique(ends)
    logits = torch.cat([found for _, found in prefill(model, cache, places, work)])
    rows = torch.as_tensor(np.searchsorted(places, ends), device=logits.device)
    tokens: list[int] = pick(logits[rows], range(len(ends))).tolist()
    return tokens


def greedy(logits: "torch.Tensor", rows: Sequence[int]) -> "torch.Tensor":  # noqa: ARG001
    """Return the most likely token of each row."""
    return logits.argmax(dim=-1)


class SeededSampling:
    """Draws from softmax(logits / T) with a generator a row, so that batches change nothing.

    Gumbel-max: the argmax of logits / T plus Gumbel noise is such a draw (Maddison et al. 2014).
    """

    def __init__(self, temperature: float, seeds: Sequence[int]) -> None:
        """Take one seed for each row of the whole batch."""
        import torch

        self.temperature = temperature
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, logits: "torch.Tensor", rows: Sequence[int]) -> "torch.Tensor":
        """Return a token of each row that is still in the batch."""
        import torch

        width = logits.shape[1]
        noise = torch.stack([torch.rand(width, generator=self.generators[row]) for row in rows])
        gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
        return (logits.float() / self.temperature + gumbel.to(logits.device)).argmax(dim=-1)
