"""Messages to the exact token ids that a model reads: the one place where this happens."""

import os
import warnings
from collections.abc import Sequence
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
        """Ids of the prompt with exactly one beginning-of-text token, where the model has one."""
        chat = self.spec.kind == "chat"
        # A chat template writes its own special tokens; a second set would be a double BOS.
        ids: list[int] = self.tokenizer.encode(self.text(messages), add_special_tokens=not chat)
        bos = self.tokenizer.bos_token_id
        if bos is not None and ids[:2] == [bos, bos]:
            raise UserError(
                f"model '{self.spec.name}': its prompt begins with two {self.tokenizer.bos_token}:"
                " mend the chat template"
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
