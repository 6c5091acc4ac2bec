"""What is computed together: waves of rows that fit into memory.

A plan follows from the requests and their prompts alone, so that a continued run computes the
same waves as a whole one. All rows of a wave begin at once: grouped stems leave room for them,
and so no row has to wait for another one's place.
"""

from collections.abc import Sequence
from typing import Any

from harness.completions import Request
from harness.engines.prefixes import common

# Rows in one step: its cost grows less than the rows do, up to about this many on 2 cores.
MAX_ROWS = 96
# Rows x new tokens of a wave at most, which a killed run loses. On 2 cores SmolLM2 takes 15 s.
WAVE_TOKENS = 8192
MIN_WAVE_ROWS = 16  # however long their texts may be: fewer rows would waste a step


def alike(request: Request) -> tuple[Any, ...]:
    """Return what rows have to agree in to be computed together, or to share a prefix."""
    # An adapter changes every key and value, so that rows of two share no prefix either.
    return (request.decoding, request.stop, request.adapter and request.adapter.digest)


def plan_batches(
    requests: Sequence[Request],
    prompts: Sequence[Sequence[int]],
    indices: Sequence[int],
    batch_tokens: int,
    wave_tokens: int = WAVE_TOKENS,
) -> list[list[int]]:
    """Return waves of like requests, neighbours in the prefix tree, that are in memory at once.

    Rows x longest prompt of a batch are at most ``batch_tokens``, its rows x new tokens at most
    ``wave_tokens`` (over MIN_WAVE_ROWS rows). The batch with the longest prompt comes first:
    trouble with memory shows at once.
    """
    batches: list[list[int]] = []
    longest = 0
    for index in _along_the_tree(requests, prompts, indices):
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
    return sorted(batches, key=lambda batch: -max(len(prompts[i]) for i in batch))


def plan_scores(
    requests: Sequence[Request],
    prompts: Sequence[Sequence[int]],
    sizes: Sequence[int],
    batch_tokens: int,
) -> list[list[int]]:
    """Return groups of like requests, neighbours in the prefix tree, scored together.

    ``sizes`` are the tokens of a prompt and all of its choices; what a prompt shares with its
    neighbour is counted once, and a group has at most ``batch_tokens``, or one request.
    """
    groups: list[list[int]] = []
    tokens = 0
    for index in _along_the_tree(requests, prompts, range(len(requests))):
        group = groups[-1] if groups else []
        shared = common(prompts[group[-1]], prompts[index]) if group else 0
        tokens += sizes[index] - shared
        if (
            not group
            or alike(requests[group[0]]) != alike(requests[index])
            or tokens > min(batch_tokens, WAVE_TOKENS)
        ):
            groups.append([index])
            tokens = sizes[index]
        else:
            group.append(index)
    return groups


def _along_the_tree(
    requests: Sequence[Request], prompts: Sequence[Sequence[int]], indices: Sequence[int]
) -> list[int]:
    order = sorted(indices, key=lambda i: (prompts[i], -i), reverse=True)
    return sorted(order, key=lambda i: repr(alike(requests[i])))


def _most_rows(request: Request, wave_tokens: int) -> int:
    return max(MIN_WAVE_ROWS, wave_tokens // request.decoding.max_new_tokens)
