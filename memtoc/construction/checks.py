"""What must hold for every wrong value before a benchmark is worth running.

A violation names the question, the value and the rule. The report goes out as markdown for people
and as JSON for programs; every value stays as it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memtoc.benchmark.dates import TIMEZONE, parse_date
from memtoc.benchmark.drafts import WrongValues, names
from memtoc.benchmark.kinds import TEMPORAL, kind_of
from memtoc.construction.temporal import FAR_DAYS, FAR_YEARS, NEAR_DAYS, NEAR_YEARS
from memtoc.questions import Question, same_value
from memtoc.scoring.match import match

RULES = {
    "missing": "a near value is there",
    "equals_gold": "the value is not the gold",
    "equals_near": "far is not near",
    "other_valid_value": "the value is not another valid answer",
    "says_gold": "neither value nor gold, nor an alias of them, counts as the other when scored",
    "shares_name": "no name contains the other",
    "in_question": "the question does not name the value",
    "kind": "the value is of the gold's kind",
    "format": "the value is written as the gold is",
    "distance": "a near date or year is near, a far one far",
    "future": "the value is no future date",
    "region": "a near time zone shares the gold's region, a far one does not",
    "sex": "a person is replaced by one of the same sex, where both are known",
}


@dataclass(frozen=True)
class Violation:
    """One rule broken by one value; ``field`` is near or far."""

    id: str
    field: str
    rule: str
    value: str
    detail: str


@dataclass(frozen=True)
class Report:
    """All violations of a benchmark, and the number of questions checked."""

    checked: int
    violations: tuple[Violation, ...]
    sex_known: int

    @property
    def counts(self) -> dict[str, int]:
        """Return the broken rules in the order of RULES, each with its number of violations."""
        found = Counter(violation.rule for violation in self.violations)
        return {rule: found[rule] for rule in RULES if found[rule]}


def check(
    questions: Iterable[Question], wrong: Mapping[str, WrongValues], last_year: int | None
) -> Report:
    """Check near and far of all questions; ``wrong`` adds aliases and provenance by id.

    ``last_year`` is the last year before the future; None leaves that rule out.
    """
    questions = list(questions)
    # Without provenance a value is held against the question alone.
    none = WrongValues("", None, None, "")
    violations = [
        violation
        for question in questions
        for violation in _violations(question, wrong.get(question.id, none), last_year)
    ]
    # Said in the report, since the rule on sex holds only where both are known.
    known = sum(None not in _sexes(wrong.get(q.id, none), "near") for q in questions)
    return Report(len(questions), tuple(violations), known)


def _violations(
    question: Question, wrong: WrongValues, last_year: int | None
) -> Iterator[Violation]:
    if not question.near.strip():
        yield Violation(question.id, "near", "missing", "", "no near value")
        return
    for field, value in (("near", question.near), ("far", question.far)):
        if value is not None:
            for rule, detail in _broken(question, wrong, field, value, last_year):
                yield Violation(question.id, field, rule, value, detail)


def _broken(
    question: Question, wrong: WrongValues, field: str, value: str, last_year: int | None
) -> Iterator[tuple[str, str]]:
    if same_value(value, question.gold):
        # It would be scored as the gold as well: one violation is enough.
        yield "equals_gold", f"gold is '{question.gold}'"
        return
    if field == "far" and same_value(value, question.near):
        yield "equals_near", f"near is '{question.near}'"
    for other in wrong.alternatives:
        if same_value(value, other):
            yield "other_valid_value", f"'{other}' is valid too"
    yield from _names(question, wrong, field, value)
    # The one violation of the released benchmark: for "Who is the father of Henry Ford Ii?" the
    # repaired value is Henry Ford, which the question holds.
    if names(question.text, value):
        yield "in_question", "the question names it"
    written, right = _written(value, question.kind), _written(question.gold, question.kind)
    if written != right:
        yield "kind", f"written as {written}, the gold '{question.gold}' as {right}"
    elif question.kind in TEMPORAL and right != question.kind:
        yield "kind", f"the gold '{question.gold}' does not read as a {question.kind}"
    elif question.kind in TEMPORAL:
        yield from _temporal(question, field, value, last_year)
    # "1,000" differs from a gold "1000" by its form.
    elif right == "number" and _marks(value) != _marks(question.gold):
        yield "format", f"gold is '{question.gold}'"
    gold_sex, sex = _sexes(wrong, field)
    # A value that people put in the place of this one has a sex that nobody looked up.
    if (
        value == getattr(wrong, field)
        and question.kind == "person"
        and None not in (gold_sex, sex)
        and gold_sex != sex
    ):
        yield "sex", f"{sex}, the gold's is {gold_sex}"


def _written(value: str, kind: str) -> str:
    """Return the kind by the text alone; for a number, "1889" is a number and no year."""
    written = kind_of(value)
    return "number" if kind == "number" and written == "year" else written


def _marks(number: str) -> set[str]:
    return set(number) & set(",.% ")


def scored_as_one(one: str, other: str) -> bool:
    """Return whether our matcher takes either value for the other."""
    return match("boundary", one, other).matched or match("boundary", other, one).matched


def _names(
    question: Question, wrong: WrongValues, field: str, value: str
) -> Iterator[tuple[str, str]]:
    right = (question.gold, *question.aliases, *wrong.gold_aliases, *wrong.alternatives)
    # Aliases were looked up for the generated value; one that people put in its place has none.
    known = field == "near" and value == wrong.near
    named = (value, *(wrong.near_aliases if known else ()))
    said = [
        f"'{one}' and '{other}'"
        for one in named
        for other in dict.fromkeys(right)
        if scored_as_one(one, other)
    ]
    # What the scorer takes for the gold would count as a right answer, so this rule comes first.
    if said:
        yield "says_gold", f"scored as one: {said[0]}"
    elif kind_of(question.gold) == "other_string" and (
        names(question.gold, value) or names(value, question.gold)
    ):
        yield "shares_name", f"gold is '{question.gold}'"


def _sexes(wrong: WrongValues, field: str) -> tuple[str | None, str | None]:
    """Return the sex of the gold and of a value, each None if the provenance lacks it."""
    known = [wrong.provenance.get(name) for name in ("gold", field)]
    gold, value = (k.get("sex") if isinstance(k, Mapping) else None for k in known)
    return gold, value


def _temporal(
    question: Question, field: str, value: str, last_year: int | None
) -> Iterator[tuple[str, str]]:
    near = field == "near"
    if question.kind == "timezone":
        gold_zone, zone = TIMEZONE.fullmatch(question.gold), TIMEZONE.fullmatch(value)
        if gold_zone and zone and (gold_zone["area"] == zone["area"]) is not near:
            yield "region", f"gold is '{question.gold}'"
        return
    if question.kind == "year":
        year, apart, allowed = int(value), abs(int(value) - int(question.gold)), NEAR_YEARS
        allowed = NEAR_YEARS if near else FAR_YEARS
    else:
        gold_date, date = parse_date(question.gold), parse_date(value)
        if gold_date is None or date is None:
            return
        # A wrong date must not differ from the gold by its form.
        if (gold_date.form, gold_date.short, gold_date.comma) != (
            date.form,
            date.short,
            date.comma,
        ):
            yield "format", f"gold is '{question.gold}'"
        year, apart = date.value.year, abs((date.value - gold_date.value).days)
        allowed = NEAR_DAYS if near else FAR_DAYS
    if not allowed[0] <= apart <= allowed[1]:
        unit = "years" if question.kind == "year" else "days"
        yield "distance", f"{apart} {unit} from the gold, not {allowed[0]} to {allowed[1]}"
    if last_year is not None and year > last_year:
        yield "future", f"after {last_year}"


def counted(number: int, thing: str) -> str:
    """Return a count in words, e.g. "1 violation" or "2 violations"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as a JSON object: checked, counts by rule, violations, rules in words."""
    return {
        "checked": report.checked,
        "sex_known": report.sex_known,
        "counts": report.counts,
        "violations": [asdict(violation) for violation in report.violations],
        "rules": {rule: RULES[rule] for rule in report.counts},
    }


def as_markdown(report: Report) -> str:
    """Return the report as a page: a table of rules and a table of violations."""
    lines = [
        "# Checks",
        "",
        f"{report.checked} questions, {counted(len(report.violations), 'violation')}."
        f" The sex of gold and near is known for {report.sex_known}.",
        "",
    ]
    if report.violations:
        lines += _table(
            ("rule", "must hold", "violations"),
            [(rule, RULES[rule], str(count)) for rule, count in report.counts.items()],
        )
        lines += _table(
            ("question", "value", "is", "rule", "why"),
            [(v.id, v.value, v.field, v.rule, v.detail) for v in report.violations],
        )
    return "\n".join(lines)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows), ""]


def _line(cells: Sequence[str]) -> str:
    # A bar or a tag in a question would break the table.
    shown = (" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(cell.replace('<', '&lt;') for cell in shown)} |"
