"""The embedded benchmark's rows: kinds, folds, chains, wrong values, varied wording."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from itertools import combinations, pairwise
from typing import Any
from zoneinfo import available_timezones

import pytest

from memtoc.questions import FAMILIES, KINDS, Question, same_value
from memtoc.scoring import match
from memtoc.sources import starter

QUESTIONS = starter.load().questions
TEMPORAL = ("date", "year")
DATE_FORMS = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y")
# The furthest a wrong value may lie in the future when the rows were written.
AUTHORED = date(2026, 1, 1)
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)


def of_kind(kind: str) -> list[Question]:
    return [question for question in QUESTIONS if question.kind == kind]


def words(text: str) -> str:
    """The text's words, lower case, with a space before and after."""
    return " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])


def values(question: Question) -> list[str]:
    return [question.gold, *question.aliases]


def test_every_kind_and_family_is_there_and_there_are_enough_questions() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    families = Counter(question.family for question in QUESTIONS)
    assert len(QUESTIONS) >= 120
    assert all(kinds[kind] >= 10 for kind in KINDS if kind != "number"), kinds
    assert kinds["number"] == 0
    assert all(families[family] >= 12 for family in FAMILIES), families


def test_every_question_was_reviewed_and_has_a_near_and_a_far_value() -> None:
    assert {question.review for question in QUESTIONS} == {"pass"}
    assert all(question.far for question in QUESTIONS)


def test_questions_are_worded_differently() -> None:
    skeletons = Counter(skeleton(question.text) for question in QUESTIONS)
    skeleton_text, times = skeletons.most_common(1)[0]
    assert times <= 5, skeleton_text


def skeleton(text: str) -> str:
    """The question with its quotations, names and numbers masked."""
    text = re.sub(r'"[^"]*"', "QUOTE", text)
    text = re.sub(r"(?<!^)\b[A-Z][\w.'-]*(?:\s+[A-Z][\w.'-]*)*", "NAME", text)
    return re.sub(r"\d+", "0", text)


def test_a_template_with_names_swapped_has_one_skeleton() -> None:
    first, second = "Who wrote the novel War and Peace?", "Who wrote the novel Emma?"
    assert skeleton("Where did Ada Lovelace die in 1852?") == skeleton(
        "Where did Bach die in 1750?"
    )
    assert skeleton(first) != skeleton(second.replace("novel", "play"))


def test_no_chain_crosses_the_folds() -> None:
    folds = defaultdict(set)
    for question in QUESTIONS:
        folds[question.chain].add(question.fold)
    assert all(len(found) == 1 for found in folds.values())


def test_linked_questions_share_a_chain() -> None:
    crossing = [
        (first.id, second.id)
        for first, second in combinations(QUESTIONS, 2)
        if linked(first, second) and first.chain != second.chain
    ]
    assert crossing == []


def linked(first: Question, second: Question) -> bool:
    """One's gold is the other's, or is named in the other; or both ask about one person."""
    if names_gold_of(first, second) or names_gold_of(second, first):
        return True
    same_gold = same_value(first.gold, second.gold) and first.kind not in TEMPORAL
    return same_gold or bool(person(first) and person(first) == person(second))


def names_gold_of(first: Question, second: Question) -> bool:
    if first.kind in TEMPORAL:
        return False
    arguments = {words(text) for text in leaves(second.tool.arguments)}
    return any(
        words(value) in words(second.text) or words(value) in arguments for value in values(first)
    )


def person(question: Question) -> str:
    return str(question.tool.arguments.get("person", {}).get("full_name", ""))


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)


def test_folds_are_balanced_over_kinds_and_families() -> None:
    for attribute in ("kind", "family"):
        counts = Counter((getattr(question, attribute), question.fold) for question in QUESTIONS)
        for value in {value for value, _ in counts}:
            assert abs(counts[value, "A"] - counts[value, "B"]) <= 3, value


def test_chains_stand_together_and_kinds_vary_along_the_file() -> None:
    order = [question.chain for question in QUESTIONS]
    changes = sum(first != second for first, second in pairwise(order))
    assert changes == len(set(order)) - 1
    assert len({question.kind for question in QUESTIONS[:24]}) == 8


@each_question
def test_no_wrong_value_matches_the_gold_or_stands_in_the_question(question: Question) -> None:
    for wrong in (question.near, question.far or ""):
        assert words(wrong) not in words(question.text)
        for right in values(question):
            for matcher in ("containment", "boundary"):
                assert not match(matcher, wrong, right, question.text).matched, (wrong, right)
                assert not match(matcher, right, wrong, question.text).matched, (wrong, right)


@each_question
def test_the_question_does_not_give_its_answer_away(question: Question) -> None:
    assert all(words(value) not in words(question.text) for value in values(question))


@pytest.mark.parametrize("question", of_kind("year"), ids=lambda q: q.id)
def test_wrong_years_lie_at_their_distances(question: Question) -> None:
    gold, near, far = int(question.gold), int(question.near), int(question.far or 0)
    assert 1 <= abs(near - gold) <= 15
    assert 80 <= abs(far - gold) <= 400
    assert min(near, far) >= 1 and max(near, far) <= AUTHORED.year


@pytest.mark.parametrize("question", of_kind("date"), ids=lambda q: q.id)
def test_wrong_dates_lie_at_their_distances_in_the_golds_format(question: Question) -> None:
    form, gold = parsed(question.gold)
    for wrong, least, most in ((question.near, 15, 1500), (question.far, 18_000, 110_000)):
        wrong_form, day = parsed(wrong or "")
        assert wrong_form == form
        assert least <= abs((day - gold).days) <= most
        assert day <= AUTHORED
    assert parsed(question.near)[1].year != gold.year, "a year alone must tell near from gold"


def parsed(text: str) -> tuple[str, date]:
    for form in DATE_FORMS:
        try:
            return form, datetime.strptime(text, form).date()
        except ValueError:
            continue
    raise AssertionError(text)


@pytest.mark.parametrize("question", of_kind("timezone"), ids=lambda q: q.id)
def test_wrong_time_zones_exist_near_in_the_region_and_far_outside_it(question: Question) -> None:
    zones = (question.gold, question.near, question.far or "")
    gold, near, far = (zone.split("/")[0] for zone in zones)
    assert set(zones) <= available_timezones()
    assert gold == near != far
