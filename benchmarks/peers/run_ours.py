"""Our own engine on the prompts of a job; runs in the project's environment."""

from collections.abc import Sequence

from benchmarks.peers.prompts import arm, requests, warm_up
from benchmarks.peers.worker import Generate, Job, Prompt, serve


def load(_job: Job, _setting: int) -> Generate:
    """Loads the engine; it renders the requests by itself, as it does in an arm."""
    engine = arm().backend.engine()
    asked = {**requests(), ("warm-up", ""): warm_up()}

    def generate(prompts: Sequence[Prompt]) -> list[str]:
        wanted = [asked[prompt.id, prompt.condition] for prompt in prompts]
        texts = dict.fromkeys(range(len(wanted)), "")
        for group in engine.run(wanted, range(len(wanted))):
            for index, completion in group.items():
                assert completion.error is None, completion.error
                assert completion.prompt_tokens == len(prompts[index].token_ids)
                texts[index] = completion.text
        return list(texts.values())

    return generate


if __name__ == "__main__":
    serve(load, ("torch", "transformers"))
