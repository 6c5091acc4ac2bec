"""The transformers engine under schemas: a random model, which writes nothing of use by itself."""

import json
from pathlib import Path

import pytest
from support.vocabularies import small_tokenizer

from harness.cache import cache_key
from harness.completions import Completion, Decoding, Message, Request
from harness.engines import grammar
from harness.engines.hf import HfEngine, HfSpec
from harness.engines.mock import MockSpec
from harness.errors import UserError
from harness.generation import Backend
from harness.models import Checkpoint, ModelSpec

GREEDY, WARM = Decoding("greedy", 0.0, 60), Decoding("warm", 1.5, 60)
MODEL = ModelSpec("random", "base", "keep", thinking=False)
HF = HfSpec("hf", "hf", "float32", 4096, "cpu")
ANSWER = json.dumps(
    {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Łódź"]}, "sure": {"type": "boolean"}},
        "required": ["city", "sure"],
        "additionalProperties": False,
    }
)


def ask(text: str, schema: str | None, decoding: Decoding = GREEDY, seed: int = 0) -> Request:
    return Request((Message("user", text),), decoding, seed=seed, schema=schema)


def checkpoint(folder: Path, tokenizer, **config) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 256,
             "bos_token_id": None, "eos_token_id": None}  # fmt: skip
    LlamaForCausalLM(LlamaConfig(**{**shape, **config})).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def opened(folder: Path) -> HfEngine:
    return HF.open(MODEL, Checkpoint(folder, "digest", None))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> HfEngine:
    tokenizer = small_tokenizer()
    end = tokenizer.eos_token_id
    folder = tmp_path_factory.mktemp("model")
    # Logits are wider than the vocabulary, as they are where a model pads its embeddings.
    return opened(checkpoint(folder, tokenizer, vocab_size=448, eos_token_id=end))


def replies(engine: HfEngine, requests: list[Request]) -> list[Completion]:
    found = {i: c for group in engine.run(requests, range(len(requests))) for i, c in group.items()}
    return [found[index] for index in range(len(requests))]


def test_a_batch_holds_the_rows_that_have_a_schema_and_leaves_the_others(engine):
    requests = [ask("a", ANSWER), ask("bb", None), ask("ccc", '{"const": [1, "é"]}')]
    together = replies(engine, requests)
    alone = [replies(engine, [request])[0] for request in requests]
    assert together == alone
    assert json.loads(together[0].text)["city"] in ("Paris", "Łódź")
    assert json.loads(together[2].text) == [1, "é"]
    assert [reply.finish for reply in together] == ["stop", "length", "stop"]
    assert [reply.status for reply in together] == ["ok", "truncated", "ok"]
    with pytest.raises(ValueError):
        json.loads(together[1].text)


def test_sampled_replies_are_held_and_depend_on_their_seed_alone(engine):
    requests = [ask("a", ANSWER, WARM, seed) for seed in range(12)]
    found = replies(engine, requests)
    assert found[5] == replies(engine, [requests[5]])[0]
    values = [json.loads(reply.text) for reply in found]
    assert {value["city"] for value in values} == {"Paris", "Łódź"}
    assert {value["sure"] for value in values} == {True, False}


def test_a_text_that_outgrows_its_tokens_is_truncated_and_one_that_just_fits_is_whole(engine):
    whole = replies(engine, [ask("a", ANSWER)])[0]
    exact = Decoding("g", 0.0, whole.completion_tokens)
    short = Decoding("g", 0.0, whole.completion_tokens - 1)
    assert replies(engine, [ask("a", ANSWER, exact)])[0] == whole
    cut = replies(engine, [ask("a", ANSWER, short)])[0]
    assert (cut.status, cut.text) == ("truncated", whole.text[:-1])
    endless = replies(engine, [ask("a", '{"type": "array", "items": {"type": "integer"}}')])[0]
    assert endless.completion_tokens <= GREEDY.max_new_tokens


def test_a_text_that_might_go_on_ends_with_the_turn(engine):
    found = replies(engine, [ask("a", '{"type": "integer"}', WARM, seed) for seed in range(20)])
    ended = [reply for reply in found if reply.status == "ok"]
    assert ended
    assert all(isinstance(json.loads(reply.text), int) for reply in ended)


def test_a_model_without_an_end_of_turn_still_ends_where_its_text_does(tmp_path):
    from transformers import PreTrainedTokenizerFast

    bare = PreTrainedTokenizerFast(
        tokenizer_object=small_tokenizer().backend_tokenizer, clean_up_tokenization_spaces=False
    )
    endless = opened(checkpoint(tmp_path, bare, vocab_size=len(bare)))
    assert not endless.stop_ids
    (reply,) = replies(endless, [ask("a", ANSWER)])
    assert reply.status == "ok"
    assert json.loads(reply.text)["city"] in ("Paris", "Łódź")


def test_a_tokenizer_that_cannot_be_spelled_out_is_named_and_still_writes_freely(tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    engine = opened(checkpoint(tmp_path, tokenizer, vocab_size=3))
    assert replies(engine, [ask("a", None)])[0].finish == "length"
    with pytest.raises(UserError, match="model 'random': its tokenizer") as raised:
        replies(engine, [ask("a", ANSWER)])
    assert "\n" not in str(raised.value)


def test_a_schema_that_cannot_be_obeyed_never_runs_free(engine):
    with pytest.raises(UserError, match="uniqueItems"):
        replies(engine, [ask("a", '{"type": "array", "uniqueItems": true}')])


def test_the_library_of_the_masks_counts_for_rows_with_a_schema_and_for_no_others(monkeypatch):
    free, masked = ask("a", None), ask("a", ANSWER)
    backend = Backend(HF, MODEL, Checkpoint(Path("none"), "digest", None))
    before = backend.keys([free, masked])
    assert before[0] == cache_key(free, backend.weights, backend.semantics())
    monkeypatch.setattr(grammar, "version", lambda _: "0.0.1")
    after = backend.keys([free, masked])
    assert before[0] == after[0]
    assert before[1] != after[1]
    scripted = Backend(MockSpec("mock", "mock", "x", ()), MODEL, None)
    assert scripted.keys([masked]) == [cache_key(masked, scripted.weights, scripted.semantics())]
