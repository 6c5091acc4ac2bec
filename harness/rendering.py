"""Messages to the exact token ids that a model reads: the one place where this happens."""

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.completions import Message
from harness.errors import UserError
from harness.models import ModelSpec


class Renderer:
    """A checkpoint's tokenizer and chat template under a model's declared policies.

    Needs neither torch nor weights.
    """

    def __init__(self, spec: ModelSpec, folder: Path) -> None:
        """Reads the tokenizer; raises UserError for a chat model without a template."""
        self.spec = spec
        self.tokenizer = _tokenizer(folder)
        if spec.kind == "chat" and self.tokenizer.chat_template is None:
            raise UserError(
                f"model '{spec.name}' is declared chat but {folder} has no chat template:"
                " set model.kind=base, or use its instruct checkpoint"
            )
        self._special = _special_text(self.tokenizer)

    def text(self, messages: Sequence[Message]) -> str:
        """The prompt as one string; a base checkpoint gets the raw text of the turns."""
        if self.spec.kind == "base":
            return "\n\n".join(message.content for message in messages) + "\n"
        from jinja2 import TemplateError

        try:
            rendered = self.tokenizer.apply_chat_template(
                self._turns(messages),
                tokenize=False,
                add_generation_prompt=True,
                **self.spec.template,
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise UserError(
                f"model '{self.spec.name}': its chat template refuses this conversation ({error}):"
                " set model.system_role=fold if it has no system role"
            ) from error
        return str(rendered)

    def token_ids(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the prompt with exactly one beginning-of-text token, where the model has one.

        Only the chat template writes special tokens: where a message spells one out
        (``<|im_end|>``), it is read as the characters it consists of, and ends no turn.
        """
        ids = self._ids(messages)
        bos = self.tokenizer.bos_token_id
        if bos is not None and ids[:2] == [bos, bos]:
            raise UserError(
                f"model '{self.spec.name}': its prompt begins with two {self.tokenizer.bos_token}:"
                " mend the chat template"
            )
        return ids

    def _ids(self, messages: Sequence[Message]) -> list[int]:
        spelled = any(self._special.search(message.content) for message in messages)
        if self.spec.kind == "base":
            return self._encode(self.text(messages), as_characters=spelled, add=True)
        if spelled:
            return self._ids_with_spelled_out(messages)
        # A chat template writes its own special tokens; a second set would be a double BOS.
        return self._encode(self.text(messages))

    def _ids_with_spelled_out(self, messages: Sequence[Message]) -> list[int]:
        """The messages' own special tokens are hidden from the template, then read as characters.

        All that lies between two special tokens of the template is encoded on its own in any case.
        """
        hidden = Hidden(self._special, messages)
        ids: list[int] = []
        trusted = ""
        for piece in self._special.split(self.text(hidden.messages)):
            if hidden.mark in piece:
                ids += self._encode(trusted)
                ids += self._encode(hidden.shown(piece), as_characters=True)
                trusted = ""
            else:
                trusted += piece
        return ids + self._encode(trusted)

    def _encode(self, text: str, *, as_characters: bool = False, add: bool = False) -> list[int]:
        ids: list[int] = self.tokenizer.encode(
            text, add_special_tokens=add, split_special_tokens=as_characters
        )
        return ids

    def _turns(self, messages: Sequence[Message]) -> list[dict[str, str]]:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if self.spec.system_role == "fold" and len(turns) > 1 and turns[0]["role"] == "system":
            system, first, *rest = turns
            folded = {"role": "user", "content": f"{system['content']}\n\n{first['content']}"}
            return [folded, *rest]
        return turns


def _tokenizer(folder: Path) -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import PreTrainedTokenizerFast

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left")
        except Exception as error:
            raise UserError(
                f"{folder}: its tokenizer cannot be read ({str(error)[:120]}): replace the folder"
            ) from error


def _special_text(tokenizer: Any) -> re.Pattern[str]:
    """Every special token as it is spelled, the longer of two that begin alike first."""
    added = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    spelled = sorted({*added, *tokenizer.all_special_tokens}, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, spelled))})" if spelled else r"(?!)")


class Hidden:
    """Messages in which every special token is replaced by a numbered mark.

    The mark is a private-use character (Unicode E000 to F8FF) that stands in none of them.
    """

    def __init__(self, special: re.Pattern[str], messages: Sequence[Message]) -> None:
        used = set().union(*(message.content for message in messages))
        self.mark = next(chr(code) for code in range(0xE000, 0xF900) if chr(code) not in used)
        self._words: list[str] = []
        self.messages = tuple(
            replace(message, content=special.sub(self._hide, message.content))
            for message in messages
        )

    def _hide(self, found: re.Match[str]) -> str:
        self._words.append(found[0])
        return f"{self.mark}{len(self._words) - 1}{self.mark}"

    def shown(self, text: str) -> str:
        """The text with the special tokens, as they were spelled, in the place of their marks."""
        marked = f"{self.mark}([0-9]+){self.mark}"
        return re.sub(marked, lambda found: self._words[int(found[1])], text)


def audit(renderer: Renderer, messages: Sequence[Message], sentinels: Sequence[str]) -> None:
    """Raises UserError if the rendered prompt lacks any of the sentinels.

    A template that swallows a tool's return would turn a conflict into a closed-book run in
    disguise; this is checked on random words before anything is generated.
    """
    prompt = renderer.text(messages)
    for sentinel in sentinels:
        if sentinel not in prompt:
            raise UserError(
                f"model '{renderer.spec.name}': its chat template swallows part of the prompt"
                f" (a test word is missing): set model.kind=base to send the flat text instead"
            )
