"""Which settings go together: one table, asked before an arm runs and before any of a sweep does.

Rules are asked of a config in canonical form. A sweep leaves out, and counts, an arm that would
repeat another; every other broken rule is refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.errors import UserError
from harness.hashing import digest_of
from harness.outcomes import Plan
from memtoc.settings import ArmSettings, arm_settings, canonical
from memtoc.sources import NOT_BUILT, ReleasedSpec, ToolhopSpec


@dataclass(frozen=True)
class Rule:
    """``broken`` is asked with an arm and those of its conditions that its frame can show."""

    broken: Callable[[ArmSettings, Sequence[str]], bool]
    verdict: Literal["refused", "left out of a sweep"]
    words: str


RULES = (
    Rule(lambda arm, _: isinstance(arm.benchmark, ToolhopSpec), "refused", NOT_BUILT),
    Rule(
        lambda arm, _: getattr(arm.benchmark, "path", "") is None,
        "refused",
        "benchmark.path has no value: set it, as in benchmark.path=questions.jsonl",
    ),
    # The prompts of a release are used word for word: what they do not say cannot be asked for.
    Rule(
        lambda arm, _: isinstance(arm.benchmark, ReleasedSpec) and arm.frame.name != "tool",
        "refused",
        "frame '{arm.frame.name}' cannot be shown: benchmark=released has prompts of its own:"
        " use frame=tool",
    ),
    Rule(
        lambda arm, _: (
            isinstance(arm.benchmark, ReleasedSpec) and arm.mitigation.instruction is not None
        ),
        "refused",
        "mitigation '{arm.mitigation.name}' cannot be shown: benchmark=released has prompts of its"
        " own: use mitigation=none",
    ),
    Rule(
        lambda arm, _: isinstance(arm.benchmark, ReleasedSpec) and arm.elicitation.name != "forced",
        "refused",
        "elicitation '{arm.elicitation.name}' cannot be asked for: benchmark=released has one"
        " closed-book prompt: use elicitation=forced",
    ),
    Rule(
        lambda arm, _: (
            isinstance(arm.benchmark, ReleasedSpec)
            and arm.formulation.name not in arm.benchmark.formulations
        ),
        "refused",
        "formulation '{arm.formulation.name}' is not among benchmark.formulations: add it there",
    ),
    # A passage that failed to load is no passage: such frames have right and wrong returns only.
    Rule(
        lambda _, shown: not shown,
        "left out of a sweep",
        "frame '{arm.frame.name}' can show none of the conditions that are asked for",
    ),
    # The memory, read again, has no prompt of its own: the arm would be that without mitigation.
    Rule(
        lambda arm, shown: arm.mitigation.instruction is not None and set(shown) <= {"no_tool"},
        "left out of a sweep",
        "mitigation '{arm.mitigation.name}' stands in no prompt of the condition no_tool",
    ),
    Rule(
        lambda arm, _: arm.model.kind == "base" and arm.model.thinking,
        "refused",
        "model '{arm.model.name}' is a base checkpoint, which does not think in tags:"
        " set model.thinking=false",
    ),
    Rule(
        lambda arm, _: arm.model.kind == "base" and bool(arm.model.template),
        "refused",
        "model '{arm.model.name}' is a base checkpoint, which is prompted without a template:"
        " leave model.template out",
    ),
)


def _check_texts(arm: ArmSettings) -> None:
    """Refuse an empty wording and a frame that does not show the tool's value."""
    parts = {
        "formulation": asdict(arm.formulation),
        "frame.value": arm.frame.value,
        "frame.noop": arm.frame.noop,
        "mitigation.instruction": arm.mitigation.instruction,
    }
    for key, part in parts.items():
        for inner, text in _texts(part):
            # A JSON object may have an empty field, a wording may not.
            if not text.strip() and not (inner and key.startswith("frame")):
                raise UserError(f"{key}{inner} is empty: write what the model is to read")
    if not any("{value}" in text for _, text in _texts(arm.frame.value)):
        raise UserError(
            "frame.value holds no {value}: write it where the model is to see what the tool found"
        )


def _texts(part: Any) -> Iterator[tuple[str, str]]:
    """Yield all texts in a setting, each with its key in there."""
    if isinstance(part, str):
        yield "", part
    items = part.items() if isinstance(part, Mapping) else ()
    for name, item in (*items, *enumerate(part if isinstance(part, list) else ())):
        yield from ((f".{name}{inner}", text) for inner, text in _texts(item))


def plan(given: dict[str, Any]) -> Plan[ArmSettings]:
    """Return the plan of a resolved config: canonical, validated, held against the rules.

    Raises UserError for a setting that does not fit and for a rule that refuses.
    """
    config, notes = canonical(given)
    shown = config["conditions"]
    arm = arm_settings({**config, "conditions": shown or given["conditions"]})
    _check_texts(arm)
    for rule in RULES:
        if rule.broken(arm, shown):
            words = rule.words.format(arm=arm)
            if rule.verdict == "refused":
                raise UserError(words)
            return Plan(config, arm, "", tuple(notes), dropped=words)
    return Plan(config, arm, digest_of([config["model"], config["engine"]]), tuple(notes))
