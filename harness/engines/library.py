"""Generation with transformers' own cache and masks, for models whose layers keep other things.

Recurrent, convolutional and chunked layers are among those. Prompts share nothing there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.engines.decode import Ended, Pick, Work

if TYPE_CHECKING:
    import torch


def library_decode(
    model: Any,
    prompts: Sequence[list[int]],
    max_new_tokens: int,
    pick: Pick,
    ended: Ended,
    work: Work,
) -> list[list[int]]:
    """Return the new token ids of each prompt, all of them in one left-padded batch.

    ``pick`` and ``ended`` are those of ``decode``; a row leaves the batch as its text ends.
    """
    import torch
    from transformers import DynamicCache

    ids, mask = left_padded(prompts, model.device)
    cache = DynamicCache(config=model.config)
    written: list[list[int]] = [[] for _ in prompts]
    rows = list(range(len(prompts)))
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    work.prefilled += ids.numel()
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
        work.steps += 1
        work.decoded += len(rows)
    return written


def left_padded(
    prompts: Sequence[list[int]], device: "torch.device | str"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return token ids and mask (both prompts x longest), every prompt at the right end."""
    import torch

    width = max(len(prompt) for prompt in prompts)
    # Any token pads: the mask hides it.
    ids = [[0] * (width - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    assert all(row[-1] for row in mask), "rows end at the right"
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
