"""Replies held to a JSON schema: token masks from llguidance.

At each step a row's logits are masked down to the tokens that can still become a text of the
schema (Koo et al. 2024, arXiv 2407.08103): JSON in the schema's order of fields, at most one space
where JSON allows white space, the end of the turn only where the text may end.
"""

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from harness.engines.decode import Pick
from harness.errors import UserError

if TYPE_CHECKING:
    import torch
    from llguidance._lib import JsonCompileOptions

LIBRARY = "llguidance"
# Set over whatever a schema asks for itself ("x-guidance"): what is not understood is refused.
OPTIONS: "JsonCompileOptions" = {
    "whitespace_pattern": "[ ]?",
    "lenient": False,
    "coerce_one_of": False,
}
MAX_DEPTH = 200  # the library recurses into a schema on the machine's own stack
MAX_CHARACTERS = 1_000_000


def library_version() -> str:
    """Return name and version of the library that makes the masks."""
    return f"{LIBRARY} {version(LIBRARY)}"


def refusal(schema: str) -> str | None:
    """Return why replies cannot be held to a schema, in one line; None where they can.

    Keywords that the library does not obey are among the reasons: none is passed over.
    """
    from llguidance import LLMatcher

    try:
        refused, messages = LLMatcher.validate_grammar_with_warnings(_grammar(schema))
    except ValueError as error:
        return _one_line(str(error))
    return _one_line(messages[0]) if refused else None


def _grammar(schema: str) -> str:
    """Return the library's grammar of a schema; raises ValueError for a text that is none."""
    from llguidance import LLMatcher

    if len(schema) > MAX_CHARACTERS:
        raise ValueError(f"it has over {MAX_CHARACTERS} characters")
    try:
        value = json.loads(schema)
    except RecursionError:
        value = None
    if value is None or deeper_than(value, MAX_DEPTH):
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return str(LLMatcher.grammar_from_json_schema(value, overrides=OPTIONS))


def deeper_than(value: Any, levels: int) -> bool:
    """Return whether a JSON value is nested deeper than this."""
    level = [value]
    for _ in range(levels + 1):
        level = [child for parent in level for child in _children(parent)]
    return bool(level)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _one_line(message: str) -> str:
    return " ".join(message.split())[:300]


class Grammars:
    """The grammars of one model's vocabulary, each schema compiled once."""

    def __init__(self, tokenizer: Any, vocabulary: int, stop_ids: set[int]) -> None:
        """Take a fast tokenizer, the width of the logits, the tokens that end a turn.

        Raises ValueError for a tokenizer whose tokens the library cannot spell out.
        """
        from llguidance.hf import from_tokenizer

        width = max(vocabulary, len(tokenizer))
        ends = sorted(token for token in stop_ids if token < width)
        try:
            self._vocabulary = from_tokenizer(tokenizer, n_vocab=width, eos_token=ends or None)
        except ValueError as error:
            raise ValueError(_one_line(str(error))) from error
        self._compiled: dict[str, Any] = {}

    def matcher(self, schema: str) -> Any:
        """Return a fresh matcher of a schema; raises UserError for a schema that it cannot obey."""
        from llguidance import LLMatcher

        if schema not in self._compiled:
            try:
                matcher = LLMatcher(self._vocabulary, _grammar(schema), log_level=0)
                reason = matcher.get_error()
            except ValueError as error:
                reason = str(error)
            if reason:
                raise UserError(
                    f"replies cannot be held to the schema {schema[:60]}...: {_one_line(reason)}"
                )
            self._compiled[schema] = matcher
        return self._compiled[schema].deep_copy()


class SchemaMask:
    """Picks tokens within what each row's schema allows; rows without a schema pick freely."""

    def __init__(self, pick: Pick, matchers: Sequence[Any | None]) -> None:
        """Take one matcher, or None, for each row of the whole batch."""
        self._pick = pick
        self._matchers = matchers

    def __call__(self, logits: "torch.Tensor", rows: Sequence[int]) -> "torch.Tensor":
        """Return a token of each row that is still in the batch (``logits``: rows x vocabulary)."""
        import torch

        allowed = torch.stack([self._allowed(row, logits.shape[1]) for row in rows])
        tokens = self._pick(logits.masked_fill(~allowed.to(logits.device), -torch.inf), rows)
        for row, token in zip(rows, tokens.tolist(), strict=True):
            matcher = self._matchers[row]
            if matcher is not None:
                matcher.consume_token(token)
        return tokens

    def _allowed(self, row: int, width: int) -> "torch.Tensor":
        import numpy as np
        import torch

        matcher = self._matchers[row]
        if matcher is None:
            return torch.ones(width, dtype=torch.bool)
        bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
        allowed = np.zeros(width, bool)
        known = np.unpackbits(bits, bitorder="little")[:width]
        allowed[: len(known)] = known
        return torch.from_numpy(allowed)

    def over(self, row: int) -> bool:
        """Return whether nothing can follow: the text is whole, or the row has failed."""
        matcher = self._matchers[row]
        return matcher is not None and bool(matcher.is_stopped())

    def failure(self, row: int) -> str | None:
        """Return why a row's text is none of its schema; None while the library keeps up."""
        matcher = self._matchers[row]
        if matcher is None or not matcher.is_error():
            return None
        return f"its schema could not be followed ({_one_line(matcher.get_error())})"
