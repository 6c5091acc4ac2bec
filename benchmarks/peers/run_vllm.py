"""vLLM's own LLM class on the prompts of a job; runs in .venv-peer-vllm."""

import os
from collections.abc import Sequence

from benchmarks.peers.worker import Generate, Job, Prompt, serve

# Prefixes are shared in whole blocks. The CPU kernels want multiples of 32; the default of 128
# leaves most of what two conditions of a question have in common unshared.
BLOCK_TOKENS = 32


def load(job: Job, threads: int) -> Generate:
    """Loads the model with prefix caching; vLLM makes up its batches by itself."""
    # A core that is not reserved gets a thread. The variable is read when vLLM starts its worker.
    cores = len(os.sched_getaffinity(0))
    assert 1 <= threads <= cores, f"{threads} threads on {cores} cores"
    os.environ["VLLM_CPU_NUM_OF_RESERVED_CPU"] = str(cores - threads)
    from vllm import LLM, SamplingParams, TokensPrompt

    # generation_config="vllm": what the checkpoint says of sampling stays out of greedy decoding.
    model = LLM(
        job.model,
        dtype=job.dtype,
        enable_prefix_caching=True,
        block_size=BLOCK_TOKENS,
        generation_config="vllm",
        max_model_len=2048,
    )
    greedy = SamplingParams(temperature=0.0, max_tokens=job.max_new_tokens)

    def generate(prompts: Sequence[Prompt]) -> list[str]:
        asked = [TokensPrompt(prompt_token_ids=prompt.token_ids) for prompt in prompts]
        return [answer.outputs[0].text for answer in model.generate(asked, greedy, use_tqdm=False)]

    return generate


# vLLM starts its worker by importing this module again: without the guard that would never end.
if __name__ == "__main__":
    serve(load, ("vllm-cpu", "torch", "transformers"))
