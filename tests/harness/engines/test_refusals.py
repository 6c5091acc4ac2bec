"""How servers say that a prompt is too long, and what they say that only sounds like it."""

import json
from typing import Any

import pytest
from support.asking import MODEL, ask, completions, spec
from support.chat_server import Answer, Asked, chat_serving, error, of_json, said

from harness.completions import Completion
from harness.errors import UserError

VLLM = "This model's maximum context length is 4096 tokens. However, "
TOO_LONG: dict[str, Answer] = {
    # vLLM, by version, and what it gives where nothing is left for the reply.
    "vllm 0.4": of_json(
        {"object": "error", "message": f"{VLLM}you requested 4726 tokens (3726 in the messages,"
         " 1000 in the completion). Please reduce the length.", "code": 400}, 400,
    ),
    "vllm 0.6": error(400, "'max_tokens' or 'max_completion_tokens' is too large: 2000. This"
                      " model's maximum context length is 4096 tokens and your request has 2104"
                      " input tokens (2000 > 4096 - 2104)."),
    "vllm 0.10": error(400, "The decoder prompt (length 5056) is longer than the maximum model"
                       " length of 4096. Make sure that `max_model_len` is no smaller."),
    "vllm 0.14": error(400, f"{VLLM}your request has 8000 input tokens. Please reduce the length"
                       " of the input messages. (parameter=input_tokens, value=8000)",
                       param="input_tokens"),
    "vllm 0.16": error(400, "You passed 4097 input tokens and requested 1 output tokens. However,"
                       " the model's context length is only 4096 tokens, resulting in a maximum"
                       " input length of 4095 tokens."),
    "vllm, no room": error(400, "max_tokens must be at least 1, got -186."),
    "vllm, in a 500": error(500, f"{VLLM}you requested 4726 tokens."),
    # llama.cpp's server, in the order of its versions.
    "llama.cpp 2023": error(500, "context size exceeded"),
    "llama.cpp 2024": error(500, "Input prompt is too big compared to KV size. Please try"
                            " increasing KV size."),
    "llama.cpp 2025": error(500, "the request exceeds the available context size. try increasing"
                            " the context size or enable context shift", type="server_error"),
    "llama.cpp, typed": error(400, "the request exceeds the available context size, try increasing"
                              " it", code=400, type="exceed_context_size_error", n_ctx=256),
    "llama.cpp 2026": error(400, "request (4390 tokens) exceeds the available context size (4096"
                            " tokens), try increasing it", type="exceed_context_size_error"),
    "llama.cpp, in the reply": error(500, "Context size has been exceeded.", type="server_error"),
    "llama.cpp through a proxy": error(502, "rpc error: code = Unknown desc = the request exceeds"
                                       " the available context size"),
    # Text generation inference, also as hosted.
    "tgi inputs": of_json({"error": "Input validation error: `inputs` must have less than 1024"
                           " tokens. Given: 1168", "error_type": "validation"}, 422),
    "tgi sum": of_json({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must"
                        " be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`",
                        "error_type": "validation"}, 422),
    "tgi hosted": error(422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <="
                        " 4096. Given: 8740 `inputs` tokens", http_status_code=422),
    "lm studio": of_json({"error": "Trying to keep the first 10136 tokens when context the"
                          " overflows. However, the model is loaded with context length of only"
                          " 7866 tokens, which is not enough."}, 400),
    "lm studio, new": of_json({"error": "The number of tokens to keep from the initial prompt is"
                               " greater than the context length (n_keep: 15857 >= n_ctx: 4096)."
                               " Try to load the model with a larger context length"}, 400),
    "lm studio, no figures": of_json({"error": "tokens to keep from the initial prompt is greater"
                                      " than the context length"}, 500),
    "llama-cpp-python": error(500, "Requested tokens (2285) exceed context window of 2048",
                              type="internal_server_error"),
    "llama-cpp-python, typed": error(400, "This model's maximum context length is 2048 tokens,"
                                     " however you requested 2285 tokens (2275 in your prompt)",
                                     code="context_length_exceeded"),
    "tensorrt-llm": error(400, "The sum of prompt length (9000.0), query length (0) should not"
                          " exceed max_num_tokens (8192)"),
    "tensorrt-llm, default": error(400, "Default max_tokens (-5) should be greater than 0, default"
                                   " max_tokens is derived from the max_seq_len"),
    "triton": of_json({"error": "Cannot process new request: Prompt length (5056) exceeds maximum"
                       " sequence length (2048)"}, 500),
    "triton, input": of_json({"error": "Encountered an error when fetching new request: Prompt"
                              " length (200) exceeds maximum input length (100)"}, 500),
    "sglang": of_json({"object": "error", "message": "The input (61709 tokens) is longer than the"
                       " model's context length (40960 tokens).", "type": "BadRequestError"}, 400),
    "sglang, allowed": error(400, "Input length (160062 tokens) exceeds the maximum allowed length"
                             " (59862 tokens). Use a shorter input."),
    "sglang, requested": error(400, "Requested token count exceeds the model's maximum context"
                               " length of 40960 tokens. You requested a total of 41000 tokens"),
    "lmdeploy": error(400, "The input token length 9000 is larger than session_len 8192"),
    "tabbyapi": of_json({"detail": "Prompt length 5000 is greater than max_seq_len 4096"}, 400),
    "fastapi's list": of_json({"detail": [{"loc": ["body"], "msg": "Value error, the prompt has"
                               " 5000 tokens, which exceeds the context window of 4096"}]}, 422),
    "ollama": error(400, "prompt too long; exceeded max context length by 4 tokens"),
    "ollama, 500": of_json({"error": "the input length exceeds the context length"}, 500),
    "gpt4all": error(500, "The prompt size exceeds the context window size and cannot be"
                     " processed."),
    "rkllm": error(400, "Prompt is 11543 tokens but the model context window is 4096 tokens."),
    "ds4": error(400, "Prompt has 32769 tokens, but the configured context size is 32768 tokens"),
    "window is n": error(400, "Your input has 9000 tokens. The context window is 8,192 tokens."),
    "openai code": error(400, "No.", code="context_length_exceeded"),
    "openai 2026": error(400, "Your input exceeds the context window of this model. Please adjust"
                         " your input and try again.", code="context_length_exceeded"),
    "openai, no code": error(500, "Your input exceeds the context window of this model."),
    "anthropic": of_json({"type": "error", "error": {"type": "invalid_request_error", "message":
                          "prompt is too long: 213462 tokens > 200000 maximum"}}, 400),
    "anthropic, sum": error(400, "input length and `max_tokens` exceed context limit: 198214 + 8192"
                            " > 200000, decrease input length or `max_tokens` and try again"),
    "anthropic, bytes": error(413, "Request exceeds the maximum size", type="request_too_large"),
    "bedrock": of_json({"message": "ValidationException: Input is too long for requested model."},
                       400),
    "google": of_json([{"error": {"code": 400, "message": "The input token count (1196265) exceeds"
                        " the maximum number of tokens allowed (1048575).",
                        "status": "INVALID_ARGUMENT"}}], 400),
    "google, truncation": error(400, "[original: INVALID_ARGUMENT] Cannot truncate to 89998,"
                                " required 355220: text:355351"),
    "mistral": of_json({"object": "error", "message": "Prompt contains 40960 tokens and 0 draft"
                        " tokens, too large for model with 32768 maximum context length",
                        "type": "invalid_request_prompt", "code": "3051"}, 400),
    "together": error(400, "The input (9000 tokens) is longer than the model's context length (8192"
                      " tokens)", type="invalid_request_error"),
    "groq": error(400, "Please reduce the length of the messages or completion.",
                  code="context_length_exceeded"),
    "groq, no code": error(500, "Please reduce the length of the messages or completion."),
    "deepseek": error(400, f"{VLLM}you requested 87731 tokens (87731 in the messages)",
                      code="invalid_request_error"),
    "openrouter": error(400, "This endpoint's maximum context length is 32768 tokens. However, you"
                        " requested about 42832 tokens", code=400),
    "openrouter, wrapped": error(400, "Provider returned error", code=400, metadata={"raw":
                                 json.dumps({"error": {"message": f"{VLLM}you requested 9 tokens"}}
                                            )}),
    "openrouter, in a 200": of_json({"error": {"message": "This endpoint's maximum context length"
                                     " is 32768 tokens.", "code": 400}}),
    "fireworks": error(400, "The prompt is too long: 140000, model maximum context length: 131071"),
    "xai": error(400, "This model's maximum prompt length is 131072 but the request contains 537812"
                 " tokens."),
    "copilot": error(400, "prompt token count of 129000 exceeds the limit of 128000"),
    "github": error(413, "Request body too large for gpt-4o model. Max size: 8000 tokens.",
                    code="tokens_limit_reached"),
    "kimi": error(400, "Invalid request: Your request exceeded model token limit: 131072"
                  " (requested: 140000)"),
    "minimax": error(400, "invalid params, context window exceeds limit"),
    "z.ai": error(400, "Prompt exceeds max length", code="1261"),
    "dashscope": error(400, "<400> InternalError.Algo.InvalidParameter: Range of input length"
                       " should be [1, 202745]"),
    "cohere": of_json({"message": "too many tokens: total number of tokens in the prompt cannot"
                       " exceed 4081 - received 5000. Try using a shorter prompt"}, 400),
    "litellm": error(400, "litellm.ContextWindowExceededError: litellm.BadRequestError:"
                     f" OpenAIException - {VLLM}you requested 9000 tokens"),
    "chinese": error(400, "\u8f93\u5165\u5185\u5bb9\u8fc7\u957f\uff0c\u8d85\u8fc7\u6a21\u578b"
                     "\u4e0a\u4e0b\u6587\u957f\u5ea6\u9650\u5236"),
    "nest": of_json({"statusCode": 400, "message": "Prompt tokens exceed the context window of 4096"
                     " tokens", "error": "Bad Request"}, 400),
    "plain text": Answer(b"Requested tokens (2285) exceed context window of 2048", 500),
    "a rate's status": error(429, f"{VLLM}you requested 9000 tokens."),
}  # fmt: skip
OTHERS: dict[str, Answer] = {
    "output alone": error(400, "max_tokens is too large: 100000. This model supports at most 16384"
                          " completion tokens, whereas you provided 100000."),
    "max_tokens' range": error(400, "Range of max_tokens should be [1, 8192]"),
    "a temperature": error(400, "temperature must be less than or equal to 2"),
    "an unknown field": error(400, "Unsupported parameter: 'max_tokens'. Use"
                              " 'max_completion_tokens' instead."),
    "tokens a minute": error(413, "Request too large for model `llama3-70b` on tokens per minute"
                             " (TPM): Limit 6000, Requested 7000, please reduce your message size",
                             code="rate_limit_exceeded"),
    "throttled": error(400, "ThrottlingException: Too many tokens, please wait before trying"
                       " again."),
    "a tool's name": error(400, "Invalid 'tools[0].function.name': string too long. Expected a"
                           " string with maximum length 64, but got a string with length 70"),
    "stops": error(400, "Too many stop sequences: the maximum is 4"),
    "a missing template": error(400, "As of transformers v4.44, a chat template must be provided"),
    "an image": error(400, "image exceeds the maximum size of 20 MB"),
    "no model of that length": error(400, "model llama-7b-4096 is not loaded"),
    "a schema": error(400, "Invalid schema: nesting depth exceeds 5 levels"),
    "out of memory": error(400, "CUDA out of memory. Tried to allocate 2.00 GiB"),
}  # fmt: skip


def one(answer: Answer, **changed: Any) -> tuple[Completion, list[Asked]]:
    with chat_serving(lambda _: answer) as server:
        (found,) = completions(spec(server.url, **changed).open(MODEL, None), ask("Who?"))
    return found, server.asked


@pytest.mark.parametrize("answer", TOO_LONG.values(), ids=TOO_LONG)
def test_a_prompt_that_is_too_long_is_known_in_the_words_of_any_server_and_asked_once(answer):
    found, asked = one(answer)
    assert found.context_exceeded, found.error
    assert (found.status, found.text, len(asked)) == ("error", "", 1)
    assert str(found.error).isprintable()


@pytest.mark.parametrize("answer", OTHERS.values(), ids=OTHERS)
def test_other_refusals_keep_the_server_s_words_and_are_no_long_prompts(answer):
    found, asked = one(answer)
    assert not found.context_exceeded, found.error
    assert (found.status, len(asked)) == ("error", 1)
    assert json.loads(answer.content)["error"]["message"] in str(found.error)


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("quoted", ["the context length", "exceeds the context", "too many tokens"])
def test_trouble_of_the_server_that_speaks_of_contexts_is_trouble(status, quoted):
    found, _ = one(error(status, f"worker died while answering: {quoted}"), retries=0)
    assert not found.context_exceeded


def test_a_server_that_takes_no_request_ends_the_run_soon_and_in_its_own_words():
    sentence = "Unrecognized request argument supplied: chat_template_kwargs"
    with chat_serving(lambda _: error(400, sentence)) as server:
        engine = spec(server.url, concurrency=4).open(MODEL, None)
        with pytest.raises(UserError, match=f"refuses one request after another .*{sentence}"):
            completions(engine, *(ask(str(number)) for number in range(1000)))
    assert len(server.asked) < 15


def test_a_refusal_among_answers_ends_no_run():
    def some(asked: Asked) -> Answer:
        return said("x") if asked.prompt == "0" else error(400, "no")

    with chat_serving(some) as server:
        engine = spec(server.url, concurrency=1).open(MODEL, None)
        found = completions(engine, *(ask(str(number)) for number in range(15)))
    assert [reply.status for reply in found] == ["ok"] + ["error"] * 14
