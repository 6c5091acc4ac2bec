"""Log-probabilities of given continuations, along the prefix tree of prompts and choices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.completions import ChoiceScore
from harness.engines.attention import LayerMasks
from harness.engines.decode import Work, prefill
from harness.engines.kv import TreeCache
from harness.engines.library import left_padded
from harness.engines.prefixes import tree_of

if TYPE_CHECKING:
    import torch


def score_choices(
    model: Any,
    masks: LayerMasks | None,
    pairs: Sequence[tuple[list[int], list[int]]],
    work: Work,
) -> list[ChoiceScore]:
    """Score pairs of prompt and continuation, each as token ids and none of them empty.

    Prompts and continuations share what they begin with. ``masks`` None: the model takes only
    transformers' own masks, and every pair is computed by itself.
    """
    if masks is None:
        return [_alone(model, prompt, choice, work) for prompt, choice in pairs]
    import numpy as np

    # The last token of a continuation is looked up, never read.
    tree = tree_of([prompt + choice[:-1] for prompt, choice in pairs])
    places = [path[-len(choice) :] for path, (_, choice) in zip(tree.paths, pairs, strict=True)]
    flat = np.concatenate(places)
    targets = np.concatenate([choice for _, choice in pairs])
    found = np.zeros(len(flat))
    cache = TreeCache(tree, masks, str(model.device))
    for here, logits in prefill(model, cache, np.unique(flat), work):
        asked = np.flatnonzero(np.isin(flat, here))
        rows = np.searchsorted(here, flat[asked])
        found[asked] = _log_probabilities(logits, rows, targets[asked])
    ends = np.cumsum([len(choice) for _, choice in pairs])
    return [_score(part) for part in np.split(found, ends[:-1])]


def _log_probabilities(logits: "torch.Tensor", rows: Any, targets: Any) -> Any:
    """Of the targets at the rows of logits (places x vocabulary), in float32."""
    import torch

    logits = logits.float()
    rows, targets = (torch.as_tensor(ids, device=logits.device) for ids in (rows, targets))
    return (logits[rows, targets] - logits.logsumexp(dim=-1)[rows]).cpu().numpy()


def _alone(model: Any, prompt: list[int], choice: list[int], work: Work) -> ChoiceScore:
    ids, mask = left_padded([prompt + choice[:-1]], model.device)
    work.prefilled += ids.numel()
    logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=len(choice)).logits[0]
    return _score(_log_probabilities(logits, range(len(choice)), choice))


def _score(tokens: Any) -> ChoiceScore:
    return ChoiceScore(tuple(float(value) for value in tokens))
