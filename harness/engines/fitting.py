"""Which way of computing fits a model: it is tried on a few tokens as the model is loaded."""

from typing import Any

from harness.engines.attention import FOLDED, LayerMasks, UnfoldedError, layer_masks, register
from harness.engines.decode import Work, decode, greedy

# Two sequences that share a beginning and differ in length, counted from the middle of the
# vocabulary: special tokens stand at its ends, and a row of nothing else is so far from what a
# model has learned that bfloat16 alone moves its logits by more than their size.
SEQUENCES = ([0, 1, 2, 3, 4, 5], [0, 1, 2, 6])
# Relative distance of logits: bfloat16 alone makes about .01, a wrong mask or position .3 and up.
MOST_APART = 0.1


def fit(model: Any) -> LayerMasks | None:
    """Set the model's attention, and return the masks of its layers.

    On a CPU that is the folded attention where the architecture allows it; elsewhere, and on a
    GPU, transformers' own. Returns None for a model that has to generate with transformers' own
    cache. Whether an architecture heeds masks, positions and caches that it is handed is not
    declared anywhere: it is tried, on ten tokens.
    """
    config = model.config.get_text_config(decoder=True)
    own = model.config._attn_implementation
    if getattr(config, "attn_logit_softcapping", None) is not None:
        # transformers' sdpa leaves soft-capping out without a word (Gemma 2).
        model.set_attn_implementation(own := "eager")
    masks = layer_masks(model)
    if masks is None:
        return None
    register()
    for attention in (FOLDED, own) if model.device.type == "cpu" else (own,):
        model.set_attn_implementation(attention)
        if _agrees(model, masks):
            return masks
    return None


def _agrees(model: Any, masks: LayerMasks) -> bool:
    """Return whether a tree's logits, and a step's after it, are those of plain forward passes."""
    import torch

    width = model.config.get_text_config(decoder=True).vocab_size
    sequences = [[(width // 2 + token) % width for token in sequence] for sequence in SEQUENCES]
    seen: list[torch.Tensor] = []

    def pick(logits: "torch.Tensor", rows: Any) -> "torch.Tensor":
        seen.append(logits)
        return greedy(logits, rows)

    try:
        written = decode(model, masks, sequences, 2, pick, lambda *_: False, Work())
    except UnfoldedError:
        return False
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, AssertionError):
        return False  # the architecture takes its masks or its cache in another form
    for at, (sequence, new) in enumerate(zip(sequences, written, strict=True)):
        ids = torch.tensor([[*sequence, new[0]]], device=model.device)
        plain = model(input_ids=ids, use_cache=False).logits[0, -2:].float()
        ours = torch.stack([logits[at] for logits in seen]).float()
        if not bool((ours - plain).norm() <= MOST_APART * plain.norm()):
            return False
    return True
