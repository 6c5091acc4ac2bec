"""Messages to the exact token ids that a model reads: the one place where this happens."""

import json
import os
import re
import secrets
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.completions import Message, ToolCall
from harness.errors import UserError
from harness.models import ModelSpec
from harness.tool_calls import message_dicts


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

    def text(self, messages: Sequence[Message], tools: Sequence[str] = ()) -> str:
        """The prompt as one string; a base checkpoint gets the raw text of the turns.

        ``tools`` are the texts of function schemas: the chat template writes them.
        """
        if self.spec.kind == "base":
            if tools or any(message.call for message in messages):
                raise UserError(
                    f"model '{self.spec.name}' is a base checkpoint, which has no function calls:"
                    " use agent=native, which writes them as text"
                )
            return "\n\n".join(message.content for message in messages) + "\n"
        from jinja2 import TemplateError

        try:
            rendered = self.tokenizer.apply_chat_template(
                message_dicts(folded(messages, self.spec.system_role), parsed=True),
                tools=[json.loads(tool) for tool in tools] or None,
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

    def token_ids(self, messages: Sequence[Message], tools: Sequence[str] = ()) -> list[int]:
        """Ids of the prompt with exactly one beginning-of-text token, where the model has one.

        Only the chat template writes special tokens: where a message spells one out
        (``<|im_end|>``), it is read as the characters it consists of, and ends no turn.
        """
        ids = self._ids(messages, tools)
        bos = self.tokenizer.bos_token_id
        if bos is not None and ids[:2] == [bos, bos]:
            raise UserError(
                f"model '{self.spec.name}': its prompt begins with two {self.tokenizer.bos_token}:"
                " mend the chat template"
            )
        return ids

    def _ids(self, messages: Sequence[Message], tools: Sequence[str]) -> list[int]:
        spelled = any(self._special.search(text) for text in _texts(messages, tools))
        if self.spec.kind == "base":
            return self._encode(self.text(messages, tools), as_characters=spelled, add=True)
        if spelled:
            return self._ids_with_spelled_out(messages, tools)
        # A chat template writes its own special tokens; a second set would be a double BOS.
        return self._encode(self.text(messages, tools))

    def _ids_with_spelled_out(self, messages: Sequence[Message], tools: Sequence[str]) -> list[int]:
        """The messages' own special tokens are hidden from the template, then read as characters.

        All that lies between two special tokens of the template is encoded on its own in any case.
        """
        hidden = Hidden(self._special, messages, tools)
        ids: list[int] = []
        trusted = ""
        for piece in self._special.split(self.text(hidden.messages, hidden.tools)):
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


def folded(messages: Sequence[Message], system_role: str) -> tuple[Message, ...]:
    """The messages as a model takes them: a system text in the first user turn if it must."""
    if system_role == "fold" and len(messages) > 1 and messages[0].role == "system":
        system, first, *rest = messages
        return (Message("user", f"{system.content}\n\n{first.content}"), *rest)
    return tuple(messages)


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
    """Messages and tools in which every special token is replaced by a numbered mark.

    The mark is a private-use character (Unicode E000 to F8FF) that stands in none of them.
    """

    def __init__(
        self, special: re.Pattern[str], messages: Sequence[Message], tools: Sequence[str] = ()
    ) -> None:
        used = set().union(*_texts(messages, tools))
        self.mark = next(chr(code) for code in range(0xE000, 0xF900) if chr(code) not in used)
        self._special = special
        self._words: list[str] = []
        self.messages = tuple(self._without(message) for message in messages)
        self.tools = tuple(self._hidden(_unescaped(tool)) for tool in tools)

    def _without(self, message: Message) -> Message:
        call = message.call
        if call is not None:
            arguments = self._hidden(_unescaped(call.arguments))
            call = ToolCall(self._hidden(call.name), arguments)
        return replace(message, content=self._hidden(message.content), call=call)

    def _hidden(self, text: str) -> str:
        return self._special.sub(self._hide, text)

    def _hide(self, found: re.Match[str]) -> str:
        self._words.append(found[0])
        return f"{self.mark}{len(self._words) - 1}{self.mark}"

    def shown(self, text: str) -> str:
        """The text with the special tokens, as they were spelled, in the place of their marks."""
        marked = f"{self.mark}([0-9]+){self.mark}"
        return re.sub(marked, lambda found: self._words[int(found[1])], text)


def _texts(messages: Sequence[Message], tools: Sequence[str]) -> Iterator[str]:
    """Every text that comes from outside, JSON as its characters and not as their escapes."""
    for message in messages:
        yield message.content
        if message.call is not None:
            yield message.call.name
            yield _unescaped(message.call.arguments)
    yield from map(_unescaped, tools)


def _unescaped(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False)


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


def audit_tools(renderer: Renderer, opening: Sequence[Message]) -> None:
    """Raises UserError if the chat template swallows a tool's schema, a call or its answer.

    ``opening`` are the messages before the call.
    """
    words = [f"sentinel{secrets.token_hex(4)}" for _ in range(7)]
    tool, about, parameter, of_parameter, called, value, answer = words
    properties = {parameter: {"type": "string", "description": of_parameter}}
    parameters = {"type": "object", "properties": properties, "required": [parameter]}
    function = {"name": tool, "description": about, "parameters": parameters}
    call = ToolCall(called, json.dumps({parameter: value}))
    dialogue = [*opening, Message("assistant", "", call), Message("tool", answer)]
    try:
        prompt = renderer.text(dialogue, [json.dumps({"type": "function", "function": function})])
        problem = next(("swallows a part of them" for word in words if word not in prompt), None)
    except UserError as error:
        problem = f"cannot write them: {error}"
    if problem:
        raise UserError(
            f"model '{renderer.spec.name}': its chat template knows no function calls ({problem}):"
            " use agent=native, which writes tools and calls as text"
        )
