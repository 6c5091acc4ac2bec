"""From requests and given continuations to log-probabilities, through the generation cache."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from harness.cache import GenerationCache
from harness.completions import ChoiceScore, Decoding, Request
from harness.engines.base import Scores
from harness.errors import UserError
from harness.generation import Backend
from harness.hashing import digest_of

# Scores do not depend on how text is drawn, so all requests are scored under these settings, and
# those that differ in their decoding alone share one score.
NEUTRAL = Decoding("none", 0.0, 1)


def score_choices(
    requests: Sequence[Request],
    choices: Sequence[Sequence[str]],
    backend: Backend,
    cache: GenerationCache,
) -> list[tuple[ChoiceScore, ...]]:
    """Return, for each request, one `ChoiceScore` for each of its choices.

    ``choices[i]`` are the continuations of ``requests[i]``; a score holds the natural
    log-probabilities of a continuation's tokens after the prompt. Reads the cache, computes each
    missing question once, and stores it. Raises UserError for an engine without probabilities, and
    for a choice that is empty or too long.
    """
    if not backend.spec.scores:
        raise UserError(f"engine={backend.spec.name} gives no probabilities: use engine=hf")
    prompts = [_prompt(request) for request in requests]
    keys = [
        digest_of({"prompt": key, "choices": list(offered)})
        for key, offered in zip(backend.keys(prompts), choices, strict=True)
    ]
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    distinct = sorted(first.values())
    found = cache.get_scores([keys[index] for index in distinct])
    missing = [place for place, index in enumerate(distinct) if keys[index] not in found]
    if missing:
        engine = cast(Scores, backend.engine())
        asked = [prompts[index] for index in distinct]
        offered = [choices[index] for index in distinct]
        for group in engine.score(asked, offered, missing):
            arrived = {keys[distinct[place]]: scores for place, scores in group.items()}
            cache.put_scores(arrived.items())
            found |= arrived
    return [found[key] for key in keys]


def _prompt(request: Request) -> Request:
    return replace(request, decoding=NEUTRAL, stop=(), seed=0, schema=None)
