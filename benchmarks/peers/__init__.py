"""The `hf` engine beside lm-evaluation-harness and vLLM, on the same prompts.

`make bench-peers` runs it; `docs/speed.md` says what is measured.
"""
