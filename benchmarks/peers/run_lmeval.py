"""lm-evaluation-harness' `hf` model on the prompts of a job; runs in .venv-peer-lmeval."""

from collections.abc import Sequence

from benchmarks.peers.worker import Generate, Job, Prompt, serve


def load(job: Job, batch_size: int) -> Generate:
    """Loads HFLM as `lm_eval --model hf` does, for texts that bring their special tokens."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(
        job.model, device="cpu", dtype=job.dtype, batch_size=batch_size, add_bos_token=False
    )
    settings = {"until": [], "do_sample": False, "max_gen_toks": job.max_new_tokens}

    def generate(prompts: Sequence[Prompt]) -> list[str]:
        for prompt in prompts:
            assert model.tok_encode(prompt.text) == prompt.token_ids
        asked = [
            Instance("generate_until", {}, (prompt.text, settings), index)
            for index, prompt in enumerate(prompts)
        ]
        return list(model.generate_until(asked, disable_tqdm=True))

    return generate


if __name__ == "__main__":
    serve(load, ("lm_eval", "torch", "transformers"))
