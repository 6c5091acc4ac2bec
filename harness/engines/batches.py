"""What is computed together: batches that fit into memory, and waves of them.

A plan follows from the requests and their prompts alone, so that a continued run computes the
same waves as a whole one.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from harness.completions import Request
from harness.engines.prefixes import common

# Rows in one step: its cost grows less than the rows do, up to about this many on 2 cores.
MAX_ROWS = 96
# Rows x new tokens of a wave at most, which a killed run loses. On 2 cores SmolLM2 takes 15 s.
WAVE_TOKENS = 8192
MIN_WAVE_ROWS = 16  # however long their texts may be: fewer rows would waste a step


def alike(request: Request) -> tuple[Any, ...]:
    """What rows have to agree in to be computed together, or to share a prefix."""
    # An adapter changes every key and value, so that rows of two share no prefix either.
    return (request.decoding, request.stop, request.adapter and request.adapter.digest)


def plan_waves(
    requests: Sequence[Request],
    prompts: Sequence[Sequence[int]],
    indices: Sequence[int],
    batch_tokens: int,
    wave_tokens: int = WAVE_TOKENS,
) -> list[list[int]]:
    """Waves of neighbouring batches, so far as their prefix tree has ``batch_tokens`` tokens.

    A wave is computed and stored as a whole. Where prompts share little it is a batch; where they
    share much, the tree of several batches fits into memory, and rows of the next ones take the
    places of those that end. The wave with the longest prompt comes first: trouble with memory
    shows at once.
    """
    waves: list[list[int]] = []
    tree = 0
    for batch in plan_batches(requests, prompts, indices, batch_tokens, wave_tokens):
        wave = waves[-1] if waves else []
        size = _tree_tokens([prompts[index] for index in batch])
        shared = common(prompts[wave[-1]], prompts[batch[0]]) if wave else 0
        if (
            wave
            and alike(requests[wave[0]]) == alike(requests[batch[0]])
            and tree + size - shared <= batch_tokens
            and len(wave) + len(batch) <= _most_rows(requests[batch[0]], wave_tokens)
        ):
            wave += batch
            tree += size - shared
        else:
            waves.append(batch)
            tree = size
    return sorted(waves, key=lambda wave: -max(len(prompts[i]) for i in wave))


def _tree_tokens(neighbours: Sequence[Sequence[int]]) -> int:
    shared = sum(common(one, other) for one, other in pairwise(neighbours))
    return sum(map(len, neighbours)) - shared


def plan_batches(
    requests: Sequence[Request],
    prompts: Sequence[Sequence[int]],
    indices: Sequence[int],
    batch_tokens: int,
    wave_tokens: int = WAVE_TOKENS,
) -> list[list[int]]:
    """Batches of like requests, neighbours in the prefix tree, that are in memory at once.

    Rows x longest prompt of a batch are at most ``batch_tokens``, its rows x new tokens at most
    ``wave_tokens`` (over MIN_WAVE_ROWS rows).
    """
    order = sorted(indices, key=lambda i: (prompts[i], -i), reverse=True)
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(order, key=lambda i: repr(alike(requests[i]))):
        batch = batches[-1] if batches else []
        longest = max(longest, len(prompts[index]))
        if (
            not batch
            or alike(requests[batch[0]]) != alike(requests[index])
            or (len(batch) + 1) * longest > batch_tokens
            or len(batch) >= min(MAX_ROWS, _most_rows(requests[index], wave_tokens))
        ):
            batches.append([index])
            longest = len(prompts[index])
        else:
            batch.append(index)
    return batches


def _most_rows(request: Request, wave_tokens: int) -> int:
    return max(MIN_WAVE_ROWS, wave_tokens // request.decoding.max_new_tokens)
