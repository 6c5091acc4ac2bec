"""User simulators that answer: a model, or a person at the keyboard.

    llm         one call a turn
    react       the model thinks aloud first; the agent reads the response alone
    verify      the model judges each draft; the first that passes is said
    reflection  as verify, and what it finds wrong with a draft is before it when it writes the next

The judge is the user's own model with its own decoding, as in tau-bench; all calls are counted.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from factored.roles import Role, RoleSettings
from factored.taubench.users import STOP
from harness.completions import Message
from harness.templates import fill
from harness.thoughts import without_thoughts
from harness.validators import Name

GREETING = "Hi! How can I help you today?"
_LABEL = re.compile(
    r"(?:^[*_# \t]*(?:(?P<thought>Thoughts?)|Response)|[*_#]{0,4}(?<![a-z])User[ _]{1,3}Response)"
    r"[*_ \t]*(?::|$)[*_\s]*",
    re.IGNORECASE | re.MULTILINE,
)
_VERDICT = re.compile(r"\b(true|false)\b", re.IGNORECASE)


@dataclass(frozen=True)
class SimulatedUserSpec(RoleSettings):
    """A model that plays the user; ``instruction`` is its prompt, with {task} in it."""

    name: Name
    instruction: str


@dataclass(frozen=True)
class LlmUserSpec(SimulatedUserSpec):
    """Says what the model writes."""

    kind: Literal["llm"]


@dataclass(frozen=True)
class ReactUserSpec(SimulatedUserSpec):
    """Thinks aloud before it speaks; a text without a response is drawn again, up to ``drafts``."""

    kind: Literal["react"]
    drafts: int


@dataclass(frozen=True)
class VerifyUserSpec(SimulatedUserSpec):
    """Judges up to ``drafts`` drafts; ``judge`` holds {task}, {transcript} and {draft}."""

    kind: Literal["verify"]
    drafts: int
    judge: str


@dataclass(frozen=True)
class ReflectionUserSpec(SimulatedUserSpec):
    """Reflects on a refused draft before the next one.

    ``reflect`` holds what ``judge`` holds; ``again`` asks for the next draft, with {reflection}.
    """

    kind: Literal["reflection"]
    drafts: int
    judge: str
    reflect: str
    again: str


@dataclass(frozen=True)
class HumanSpec:
    """A person plays the user: one worker, no model."""

    name: Name
    kind: Literal["human"]


# What each wording has to hold.
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "instruction": ("task",),
    "judge": ("transcript", "draft"),
    "reflect": ("transcript", "draft"),
    "again": ("reflection",),
}


class Draft(NamedTuple):
    """What the model wrote, as its history keeps it, and the line of it that is said."""

    text: str
    line: str


class ModelUser:
    """A model that plays the user; it sees itself as the assistant, the agent as the user.

    A reasoning model's thoughts are taken out before a line is said: a STOP in them is not meant.
    No model is called before a dialogue begins, and what is said is what the history keeps.
    """

    def __init__(self, role: Role, spec: SimulatedUserSpec) -> None:
        self.role = role
        self._instruction = spec.instruction
        self._task = ""
        self._said: list[Message] = []

    @property
    def cost(self) -> float:
        """US dollars for all calls of the model since the dialogue began."""
        return self.role.usage.cost

    def reset(self, instruction: str) -> str:
        """Begin a dialogue and return the opening line, in answer to the agent's greeting."""
        self._task = instruction
        prompt = fill(self._instruction, task=instruction).strip()
        self._said = [Message("system", prompt)]
        return self.step(GREETING)

    def step(self, content: str) -> str:
        """Return the next line; raises ValueError where the model gives an empty one."""
        self._said.append(Message("user", content))
        draft = self._choose()
        if not draft.line:
            raise ValueError("the simulator gave an empty line")
        self._said.append(Message("assistant", draft.text))
        return draft.line

    def _choose(self) -> Draft:
        """Return the draft that is said."""
        return self._draft()

    def _draft(self, *more: Message) -> Draft:
        text = self._ask(*self._said, *more)
        return Draft(text, text)

    def _ask(self, *messages: Message) -> str:
        return without_thoughts(self.role.reply(messages))


class ReactUser(ModelUser):
    """Thinks in a ``Thought:``, speaks in a ``User Response:``; see ``response``.

    The history keeps the thoughts up to the response that was said, and nothing after it.
    """

    def __init__(self, role: Role, spec: ReactUserSpec) -> None:
        super().__init__(role, spec)
        self._drafts = spec.drafts

    def _choose(self) -> Draft:
        draft = Draft("", "")
        for _ in range(self._drafts):
            draft = response(self._ask(*self._said))
            if draft.line:
                break
        return draft


def response(text: str) -> Draft:
    """Return the first response of a text in the form of ReAct, without its thoughts.

    A text with STOP anywhere says exactly STOP. A text without labels is a response as a whole;
    one with thoughts alone gives an empty draft. What a model goes on to write after its response
    is left out.
    """
    if STOP in text:
        return Draft(text, STOP)
    labels = list(_LABEL.finditer(text))
    if not labels:
        return Draft(text, text)
    ends = [label.start() for label in labels[1:]] + [len(text)]
    for label, end in zip(labels, ends, strict=True):
        if label["thought"] is None and text[label.end() : end].strip():
            return Draft(text[:end].strip(), text[label.end() : end].strip())
    return Draft("", "")


class VerifyUser(ModelUser):
    """Says the first draft that its judge accepts, or the last of ``drafts``, unjudged."""

    def __init__(self, role: Role, spec: VerifyUserSpec | ReflectionUserSpec) -> None:
        super().__init__(role, spec)
        self._drafts = spec.drafts
        self._judge = spec.judge

    def _choose(self) -> Draft:
        draft = self._draft()
        for _ in range(self._drafts - 1):
            if self._accepts(draft):
                return draft
            draft = self._draft()
        return draft

    def _draft(self, *more: Message) -> Draft:
        """Return a draft; one that holds STOP becomes exactly STOP."""
        text = self._ask(*self._said, *more)
        return Draft(STOP, STOP) if STOP in text else Draft(text, text)

    def _accepts(self, draft: Draft) -> bool:
        """Return whether the judge says true; of several verdicts the last one counts."""
        if not draft.line:
            return False
        verdicts = _VERDICT.findall(self._ask(self._about(self._judge, draft)))
        return bool(verdicts) and verdicts[-1].lower() == "true"

    def _about(self, wording: str, draft: Draft) -> Message:
        who = {"assistant": "Customer", "user": "Agent"}
        lines = [f"{who[said.role]}: {said.content}" for said in self._said if said.role in who]
        text = fill(wording, task=self._task, transcript="\n".join(lines), draft=draft.line)
        return Message("user", text)


class ReflectionUser(VerifyUser):
    """Says the first draft that its judge accepts, or else the first draft that is not empty."""

    def __init__(self, role: Role, spec: ReflectionUserSpec) -> None:
        super().__init__(role, spec)
        self._reflect, self._again = spec.reflect, spec.again

    def _choose(self) -> Draft:
        drafts = [self._draft()]
        while not self._accepts(drafts[-1]):
            if len(drafts) == self._drafts:
                return next((draft for draft in drafts if draft.line), drafts[0])
            drafts.append(self._improved(drafts[-1]))
        return drafts[-1]

    def _improved(self, draft: Draft) -> Draft:
        if not draft.line:
            return self._draft()
        reflection = self._ask(self._about(self._reflect, draft))
        again = fill(self._again, reflection=reflection)
        return self._draft(Message("assistant", draft.text), Message("user", again))


def simulated(role: Role, spec: SimulatedUserSpec) -> ModelUser:
    """Return the simulator of a spec."""
    if isinstance(spec, ReactUserSpec):
        return ReactUser(role, spec)
    if isinstance(spec, VerifyUserSpec):
        return VerifyUser(role, spec)
    if isinstance(spec, ReflectionUserSpec):
        return ReflectionUser(role, spec)
    return ModelUser(role, spec)


class HumanUser:
    """Asks a person for each line; ``ask`` prints a prompt and returns what is typed."""

    cost = 0.0

    def __init__(self, ask: Callable[[str], str] = input) -> None:
        self._ask = ask

    def reset(self, instruction: str) -> str:
        """Show what the user wants, and ask for the opening line."""
        return self._ask(f"\nYou are the user. {instruction}\n({STOP} ends it)\n{GREETING}\n> ")

    def step(self, content: str) -> str:
        """Show the agent's message, and ask for the answer."""
        return self._ask(f"\n{content}\n> ")
