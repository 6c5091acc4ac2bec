"""A vocabulary made for tests, and texts drawn from it at random under a schema's masks."""

import random
from functools import cache
from typing import Any

import numpy as np

from harness.engines.grammar import Grammars

END = "<end>"
TEXTS = (
    '{"name": "get_user_details", "arguments": {"user_id": "mia_li_3668", "days": 12}}',
    '{"name":"search","arguments":{"items":["a","b"],"amount":-10.5,"gift":true,"none":null}}',
    'The quick brown fox, as they say: jumps over \\"the\\" lazy dog. Zoë\'s café, 東京 ☃ \\n',
)


@cache
def small_tokenizer() -> Any:
    """Byte-level BPE, all bytes and some merges; its one special token ends a turn."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, clean_up_tokenization_spaces=False
    )


@cache
def small_grammars() -> Grammars:
    tokenizer = small_tokenizer()
    return Grammars(tokenizer, len(tokenizer), {tokenizer.eos_token_id})


def allowed(matcher: Any) -> list[int]:
    """The tokens that a mask leaves."""
    bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
    return [int(token) for token in np.nonzero(np.unpackbits(bits, bitorder="little"))[0]]


def can_write(schema: str, text: str) -> bool:
    """Whether a text, token by token, is one that the masks of a schema leave possible."""
    matcher = small_grammars().matcher(schema)
    ids = small_tokenizer().encode(text, add_special_tokens=False)
    return bool(matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting())


@cache
def closers() -> frozenset[int]:
    """Tokens of closing signs alone; a uniform draw would hardly ever end a text."""
    tokenizer = small_tokenizer()
    texts = {token: tokenizer.decode([token]).strip() for token in range(len(tokenizer))}
    return frozenset(token for token, text in texts.items() if text and set(text) <= set('"}],'))


def random_text(schema: str, seed: int, most: int = 3000) -> str:
    """Tokens drawn uniformly among those that the mask leaves, with a leaning to close things."""
    draws = random.Random(seed)
    matcher, written = small_grammars().matcher(schema), []
    while not matcher.is_stopped():
        assert len(written) < most, "no end in sight"
        left = allowed(matcher)
        closing = [token for token in left if token in closers()]
        token = draws.choice(closing if closing and draws.random() < 0.2 else left)
        assert matcher.consume_token(token), matcher.get_error()
        written.append(token)
    return str(small_tokenizer().decode(written, skip_special_tokens=True))
