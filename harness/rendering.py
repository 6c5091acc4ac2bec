"""From messages to the exact token ids that a model reads; all engines that read weights use this.

Text of a message is text: where it spells out a special token (``<|im_end|>``), the model reads the
characters, so that a question or a tool's answer cannot end a turn.
"""

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
    """A checkpoint's tokenizer and chat template, under a model's settings.

    Reads the tokenizer's files alone: dry runs render prompts without torch and weights.
    """

    def __init__(self, spec: ModelSpec, folder: Path) -> None:
        """Read the tokenizer; raise UserError for a chat model without a template."""
        self.spec = spec
        self.tokenizer = _tokenizer(folder)
        if spec.kind == "chat" and self.tokenizer.chat_template is None:
            raise UserError(
                f"model '{spec.name}' is declared chat but {folder} has no chat template:"
                " set model.kind=base, or use its instruct checkpoint"
            )
        self._special = _special_text(self.tokenizer)

    def text(self, messages: Sequence[Message], tools: Sequence[str] = ()) -> str:
        """Return the prompt as one string; a base checkpoint gets the raw text of the turns.

        ``tools`` are the texts of function schemas, which the chat template writes. Raises
        UserError for tools on a base checkpoint, and for a conversation that the template refuses.
        """
        if self.spec.kind == "base":
            if tools or any(message.call for message in messages):
                raise UserError(
                    f"model '{self.spec.name}' is a base checkpoint, which has no function calls:"
                    " choose a chat checkpoint"
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
        """Return the ids of the prompt, with one beginning-of-text token if the model has one.

        Raises UserError for a template that writes two of them, and as `text` does.
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
        """Return the ids of messages that spell out special tokens, which are read as characters.

        Renders with numbered marks in their place, splits at the template's own special tokens, and
        encodes each piece that holds a mark as characters.
        """
        # The pieces can be encoded one by one: a tokenizer splits at special tokens in any case.
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
    """Return the messages; under ``fold`` the system text opens the first user turn instead."""
    if system_role == "fold" and len(messages) > 1 and messages[0].role == "system":
        system, first, *rest = messages
        return (Message("user", f"{system.content}\n\n{first.content}"), *rest)
    return tuple(messages)


def _tokenizer(folder: Path) -> Any:
    # Unset, the library prints a warning when a process forks after it has used threads.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import PreTrainedTokenizerFast

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Reads tokenizer.json as it is; AutoTokenizer would choose a class by the checkpoint's
            # other files.
            return PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left")
        except Exception as error:
            raise UserError(
                f"{folder}: its tokenizer cannot be read ({str(error)[:120]}): replace the folder"
            ) from error


def _special_text(tokenizer: Any) -> re.Pattern[str]:
    """Return a pattern of every special token; it matches nothing if there are none."""
    added = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    # Longest first: of <|a|> and <|a|>b, a pattern takes the one that it lists first.
    spelled = sorted({*added, *tokenizer.all_special_tokens}, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, spelled))})" if spelled else r"(?!)")


class Hidden:
    """Messages and tools in which a numbered mark stands for every special token.

    ``mark`` is a private-use character (Unicode E000 to F8FF) that occurs in none of them.
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
        """Return the text with every mark replaced by the special token it stands for."""
        marked = f"{self.mark}([0-9]+){self.mark}"
        return re.sub(marked, lambda found: self._words[int(found[1])], text)


def _texts(messages: Sequence[Message], tools: Sequence[str]) -> Iterator[str]:
    """Yield every text of messages and tools; JSON with its escapes undone."""
    for message in messages:
        yield message.content
        if message.call is not None:
            yield message.call.name
            yield _unescaped(message.call.arguments)
    yield from map(_unescaped, tools)


def _unescaped(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False)


def audit(renderer: Renderer, messages: Sequence[Message], sentinels: Sequence[str]) -> None:
    """Raise UserError if the rendered prompt lacks one of the sentinels, random words in messages.

    Runs before the first generation.
    """
    # A template that drops the tool's return would turn a conflict into a closed-book question.
    prompt = renderer.text(messages)
    for sentinel in sentinels:
        if sentinel not in prompt:
            raise UserError(
                f"model '{renderer.spec.name}': its chat template swallows part of the prompt"
                f" (a test word is missing): set model.kind=base to send the flat text instead"
            )


def audit_tools(renderer: Renderer, opening: Sequence[Message], remedy: str) -> None:
    """Raise UserError if the chat template drops a tool's schema, a call or its answer.

    Renders a dialogue of random words: ``opening``, then a call and its answer. ``remedy`` says
    what the user can do instead; the message ends with it.
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
            f" {remedy}"
        )
