"""Decoding a batch token by token; a row leaves the batch as soon as its text ends.

On a CPU the cost of a step grows with the rows in it, and replies differ in length many times
over: transformers' own loop would carry every finished row to the end of the longest.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Ended = Callable[[int, Sequence[int]], bool]
Pick = Callable[["torch.Tensor", Sequence[int]], "torch.Tensor"]


def decode(
    model: Any,
    ids: "torch.Tensor",
    mask: "torch.Tensor",
    max_new_tokens: int,
    pick: Pick,
    ended: Ended,
) -> list[list[int]]:
    """New token ids of each row of a left-padded batch (``ids``, ``mask``: rows x width).

    ``pick`` turns logits (rows x vocabulary) and the numbers of the rows in it into token ids;
    ``ended`` looks at a row's number and new ids after each token.
    """
    import torch
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    written: list[list[int]] = [[] for _ in range(len(ids))]
    rows = list(range(len(ids)))
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    for _ in range(max_new_tokens):
        logits = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        tokens = pick(logits, rows)
        for row, token in zip(rows, tokens.tolist(), strict=True):
            written[row].append(token)
        going = [at for at, row in enumerate(rows) if not ended(row, written[row])]
        if not going:
            break
        if len(going) < len(rows):
            kept = torch.tensor(going, device=ids.device)
            cache.batch_select_indices(kept)
            mask, positions, tokens = mask[kept], positions[kept], tokens[kept]
            rows = [rows[at] for at in going]
        ids = tokens[:, None]
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
        positions = positions[:, -1:] + 1
    return written


def greedy(logits: "torch.Tensor", rows: Sequence[int]) -> "torch.Tensor":  # noqa: ARG001
    """The most likely token of each row."""
    return logits.argmax(dim=-1)


class SeededSampling:
    """Draws from softmax(logits / T) with a generator a row, so that batches change nothing.

    Gumbel-max: the argmax of logits / T plus Gumbel noise is such a draw (Maddison et al. 2014).
    """

    def __init__(self, temperature: float, seeds: Sequence[int]) -> None:
        """One seed for each row of the whole batch."""
        import torch

        self.temperature = temperature
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, logits: "torch.Tensor", rows: Sequence[int]) -> "torch.Tensor":
        """A token of each row that is still in the batch."""
        import torch

        width = logits.shape[1]
        noise = torch.stack([torch.rand(width, generator=self.generators[row]) for row in rows])
        gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
        return (logits.float() / self.temperature + gumbel.to(logits.device)).argmax(dim=-1)
