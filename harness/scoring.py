"""From requests and given continuations to log-probabilities, cached as texts are."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from harness.cache import GenerationCache
from harness.completions import ChoiceScore, Decoding, Request
from harness.engines.base import Scores
from harness.errors import UserError
from harness.generation import Backend
from harness.hashing import digest_of

# A score does not depend on how text would be drawn: requests that differ in that alone share it.
NEUTRAL = Decoding("none", 0.0, 1)


def score_choices(
    requests: Sequence[Request],
    choices: Sequence[Sequence[str]],
    backend: Backend,
    cache: GenerationCache,
) -> list[tuple[ChoiceScore, ...]]:
    """Return the log-probabilities of ``choices[i]`` after the prompt of ``requests[i]``.

    Equal questions are computed once; what the cache holds is not computed. Raises UserError for
    an engine that gives no probabilities, and for a choice that is empty or too long.
    """
    if not backend.spec.scores:
        raise UserError(f"engine={backend.spec.name} gives no probabilities: use engine=hf")
    asked = {
        digest_of([_prompt(request).digest, *offered]): (_prompt(request), tuple(offered))
        for request, offered in zip(requests, choices, strict=True)
    }
    prompts = [prompt for prompt, _ in asked.values()]
    offered = [texts for _, texts in asked.values()]
    keys = [
        digest_of({"prompt": key, "choices": texts})
        for key, texts in zip(backend.keys(prompts), offered, strict=True)
    ]
    found = cache.get_scores(keys)
    missing = [index for index, key in enumerate(keys) if key not in found]
    if missing:
        engine = cast(Scores, backend.engine())
        for group in engine.score(prompts, offered, missing):
            cache.put_scores((keys[index], scores) for index, scores in group.items())
            found |= {keys[index]: scores for index, scores in group.items()}
    of_question = dict(zip(asked, (found[key] for key in keys), strict=True))
    return [
        of_question[digest_of([_prompt(request).digest, *offered])]
        for request, offered in zip(requests, choices, strict=True)
    ]


def _prompt(request: Request) -> Request:
    return replace(request, decoding=NEUTRAL, stop=(), seed=0, schema=None)
