"""What a schema's masks leave possible, over a vocabulary made for tests."""

import json
from typing import Any

import pytest
import torch
from jsonschema import Draft202012Validator
from support.vocabularies import allowed, can_write, random_text, small_grammars, small_tokenizer

from harness.engines.decode import SeededSampling, greedy
from harness.engines.grammar import Grammars, SchemaMask, refusal
from harness.errors import UserError

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
# One instance that breaks each keyword of the standard: refused as a schema, or not writable.
BROKEN: list[tuple[dict[str, Any], Any]] = [
    ({"type": "integer", "minimum": 3}, 2),
    ({"type": "integer", "exclusiveMinimum": 3}, 3),
    ({"type": "integer", "maximum": 3}, 4),
    ({"type": "integer", "exclusiveMaximum": 3}, 3),
    ({"type": "integer", "multipleOf": 5}, 7),
    ({"type": "number", "multipleOf": 0.5}, 0.3),
    ({"type": "string", "minLength": 3}, "a"),
    ({"type": "string", "maxLength": 1}, "abc"),
    ({"type": "string", "pattern": "^a+$"}, "b"),
    ({"type": "string", "pattern": "^(?=a)"}, "b"),
    ({"type": "array", "minItems": 1}, []),
    ({"type": "array", "maxItems": 1}, [1, 2]),
    ({"type": "array", "uniqueItems": True}, [1, 1]),
    ({"type": "array", "contains": {"type": "string"}}, [1]),
    ({"type": "array", "contains": {"type": "integer"}, "minContains": 2}, [1]),
    ({"type": "array", "contains": {"type": "integer"}, "maxContains": 1}, [1, 2]),
    ({"type": "array", "items": {"type": "string"}}, [1]),
    ({"type": "array", "prefixItems": [{"type": "string"}]}, [1]),
    ({"type": "array", "prefixItems": [{}], "unevaluatedItems": False}, [1, 2]),
    ({"type": "object", "minProperties": 1}, {}),
    ({"type": "object", "maxProperties": 0}, {"a": 1}),
    ({"type": "object", "required": ["b"]}, {"a": 1}),
    ({"type": "object", "propertyNames": {"pattern": "^b"}}, {"a": 1}),
    ({"type": "object", "patternProperties": {"^a": {"type": "string"}}}, {"a": 1}),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1}),
    ({"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}),
    ({"type": "object", "unevaluatedProperties": False}, {"a": 1}),
    ({"type": "object", "properties": {"a": False}}, {"a": 1}),
    ({"not": {"type": "integer"}}, 1),
    ({"if": {"type": "integer"}, "then": {"minimum": 5}}, 1),
    ({"if": {"type": "integer"}, "else": {"minLength": 5}}, "a"),
    ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}, 1),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, None),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, None),
    ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, 1),
    ({"type": ["integer", "null"]}, "a"),
    ({"type": "integer", "nullable": True}, None),
    ({"enum": ["a", 1]}, "b"),
    ({"const": 1}, 2),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, "a"),
    ({"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a", "type": "integer"}}}, "a"),
    ({"x-guidance": {"lenient": True, "coerce_one_of": True}, "not": {"type": "integer"}}, 1),
]


def pick_all(schemas: list[str | None], logits: torch.Tensor, pick: Any = greedy) -> list[str]:
    """Texts of rows that end, with the same logits at each step."""
    grammars, tokenizer = small_grammars(), small_tokenizer()
    held = SchemaMask(pick, [s if s is None else grammars.matcher(s) for s in schemas])
    rows, written = list(range(len(schemas))), [[] for _ in schemas]
    for _ in range(200):
        for row, token in zip(rows, held(logits[: len(rows)], rows).tolist(), strict=True):
            written[row].append(token)
        rows = [row for row in rows if schemas[row] is not None and not held.over(row)]
        if not rows:
            break
    assert all(held.failure(row) is None for row in range(len(schemas)))
    return [tokenizer.decode(ids, skip_special_tokens=True) for ids in written]


@pytest.mark.parametrize(("schema", "value"), BROKEN, ids=[json.dumps(s) for s, _ in BROKEN])
def test_no_keyword_is_passed_over(schema, value):
    assert not Draft202012Validator(schema).is_valid(value)
    reason = refusal(json.dumps(schema))
    if reason is None:
        assert not can_write(json.dumps(schema), json.dumps(value))
    else:
        assert reason and "\n" not in reason and len(reason) <= 300
        with pytest.raises(UserError, match="cannot be held"):
            small_grammars().matcher(json.dumps(schema))


@pytest.mark.parametrize(
    "schema",
    ["[]", "true", "no JSON", '{"type": ', '{"const": "\\ud800"}', '{"minimum": 1e999}',
     '{"a": [' * 400 + "]}" * 400, '{"a":' * 100_000 + "1" + "}" * 100_000,
     json.dumps({"enum": ["x" * 1_000_001]}), '{"type": "integer", "minimum": "three"}'],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_usable_schema_is_refused_in_one_line(schema):
    reason = refusal(schema)
    assert reason and "\n" not in reason and len(reason) <= 300


def test_random_choices_under_the_masks_are_valid_instances():
    validator = Draft202012Validator(PERSON)
    found = [random_text(json.dumps(PERSON), seed) for seed in range(40)]
    assert len(set(found)) > 30
    for text in found:
        validator.validate(json.loads(text))


@pytest.mark.parametrize(
    "text",
    ['{"name": "Zoë ☃ \\"東京\\" \\n \\u0007", "age": 0}', '{"name":"Al","age":130,"tags":[]}',
     '{ "name" : "Al" , "age" : 7 , "tags" : [ "a" , "b" , "a" ] }'],
)  # fmt: skip
def test_every_instance_in_the_order_of_the_schema_can_be_written(text):
    assert can_write(json.dumps(PERSON), text)


@pytest.mark.parametrize(
    "text",
    ['{"name":"Al","age":7} ', ' {"name":"Al","age":7}', '{"name":"Al",  "age":7}',
     '{"name":"Al",\n"age":7}', '{"name":"Al","age":7', '{"name":"Al","age":7.0}',
     '{"name":"Al","age":7,"tags":["c"]}', '{"name":"Al","age":7,"x":1}',
     '```json\n{"name":"Al","age":7}\n```', '{"name":"\\ud800x","age":7}'],
)  # fmt: skip
def test_nothing_else_can_be_written_and_white_space_is_one_space_at_most(text):
    assert not can_write(json.dumps(PERSON), text)


def test_the_turn_ends_only_where_the_text_may_end():
    end = small_tokenizer().eos_token_id
    matcher = small_grammars().matcher('{"type": "integer"}')
    assert end not in allowed(matcher)
    matcher.consume_tokens(small_tokenizer().encode("12"))
    assert end in allowed(matcher)
    whole = small_grammars().matcher(json.dumps(PERSON))
    whole.consume_tokens(small_tokenizer().encode('{"name":"Al","age":7}'))
    assert whole.is_stopped(), "a row of which nothing can follow takes no further step"


def test_rows_with_and_without_a_schema_share_a_batch():
    logits = torch.randn(3, len(small_tokenizer()), generator=torch.Generator().manual_seed(1))
    logits[:, list(small_tokenizer().encode('"}],'))] += 2.0
    free = small_tokenizer().decode([int(logits[1].argmax())])
    together = pick_all(['{"const": "a\\"é"}', None, '{"enum": [1, null]}'], logits)
    assert json.loads(together[0]) == 'a"é'
    assert together[1] == free
    assert json.loads(together[2]) in (1, None)


def test_sampled_rows_are_held_too_and_depend_on_their_own_seed_alone():
    logits = torch.zeros(2, len(small_tokenizer()))
    schema = json.dumps({"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 3,
                         "maxItems": 9})  # fmt: skip
    two = pick_all([schema, schema], logits, SeededSampling(5.0, [3, 4]))
    one = pick_all([schema], logits, SeededSampling(5.0, [3]))
    assert two[0] == one[0] != two[1]
    for text in two:
        Draft202012Validator(json.loads(schema)).validate(json.loads(text))


def test_logits_wider_than_the_vocabulary_never_pick_beyond_it():
    size = len(small_tokenizer())
    logits = torch.zeros(1, size + 100)
    logits[:, size:] = 50.0
    assert json.loads(pick_all(['{"const": 7}'], logits)[0]) == 7


def test_a_row_that_no_token_can_continue_fails_and_says_so():
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    few = Tokenizer(models.BPE({"{": 0, "a": 1, "<end>": 2}, []))
    few.decoder = decoders.ByteLevel()
    few.add_special_tokens(["<end>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=few, eos_token="<end>")
    grammars = Grammars(tokenizer, 3, {2})
    held = SchemaMask(greedy, [grammars.matcher(json.dumps(PERSON))])
    logits = torch.zeros(1, 3)
    for _ in range(3):
        if not held.over(0):
            held(logits, [0])
    assert held.over(0)
    assert "could not be followed" in str(held.failure(0))


def test_a_tokenizer_whose_tokens_cannot_be_spelled_out_is_refused():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    pieces = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    with pytest.raises(ValueError, match=r"\w"):
        Grammars(PreTrainedTokenizerFast(tokenizer_object=pieces), 3, set())


def test_a_schema_is_compiled_once_and_its_rows_do_not_share_their_place(monkeypatch):
    import llguidance

    made = []
    compile_one = llguidance.LLMatcher

    class Counting:
        grammar_from_json_schema = staticmethod(compile_one.grammar_from_json_schema)

        def __new__(cls, *arguments: Any, **options: Any) -> Any:
            made.append(arguments)
            return compile_one(*arguments, **options)

    monkeypatch.setattr(llguidance, "LLMatcher", Counting)
    tokenizer = small_tokenizer()
    grammars = Grammars(tokenizer, len(tokenizer), {tokenizer.eos_token_id})
    first, second = (grammars.matcher('{"const": "abc"}') for _ in range(2))
    first.consume_tokens(tokenizer.encode('"abc"'))
    assert first.is_stopped() and not second.is_stopped()
    assert len(made) == 1
