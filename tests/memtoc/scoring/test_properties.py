"""What holds for every text, drawn by hypothesis."""

import unicodedata
from datetime import date

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memtoc.scoring import (
    MATCHERS,
    OUTCOMES,
    acknowledges,
    decide,
    extract,
    match,
    score_memory,
)
from memtoc.scoring.containment import canonical
from memtoc.scoring.text import read

GIVEN = ["Ada", "José", "Søren", "Þóra", "Łukasz", "Marie", "Jean-Paul", "William", "Zoë", "H. C."]
FAMILY = ["Lovelace", "Müller", "O'Sullivan", "Núñez", "Kowalski", "van Dyck", "Sørensen", "Hale"]
TAILS = ["", ", 4th Earl of Ross", ", Duke of Parma", ", Blackpool", " (born Smith)", " II"]
FRAMES = [
    "{}",
    "The father of Ada Hale is {}.",
    "I'm not sure, but it might be {}.",
    "The tool says {}, but the answer is Robert Hooke.",
    "Robert Hooke, not {}",
    "{} is not her father.",
    "The output does not mention {}.",
    "{} (according to the tool)",
]
QUESTION = "Who is the father of Ada Hale?"

names = st.builds(
    "{} {}{}".format, st.sampled_from(GIVEN), st.sampled_from(FAMILY), st.sampled_from(TAILS)
)
answers = st.builds(str.format, st.sampled_from(FRAMES), names)
dates = st.dates(min_value=date(1100, 1, 1), max_value=date(2020, 12, 31))
matchers = st.sampled_from(MATCHERS)


def written(day: date, form: int) -> str:
    month = f"{day:%B}"
    return (
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day}th of {month}, {day.year}",
        f"{day.day:02d}.{day.month:02d}.{day.year}",
        f"{month[:3]}. {day.day}, {day.year}",
        f"{day.year}",
        f"{month} {day.year}",
    )[form]


def without_accents(text: str) -> str:
    marks = unicodedata.normalize("NFD", text)
    return "".join(c for c in marks if not unicodedata.combining(c))


@given(st.text(max_size=60))
def test_matching_is_reflexive(text: str) -> None:
    assert match("boundary", text, text).matched == bool(read(text).words)
    assert match("containment", text, text).matched == bool(canonical(text))


@given(answers)
def test_an_answer_is_the_same_as_itself_whatever_it_says(answer: str) -> None:
    assert all(match(matcher, answer, answer, QUESTION).matched for matcher in MATCHERS)


@given(names, names)
def test_the_boundary_matcher_is_symmetric_on_bare_names(first: str, second: str) -> None:
    there = match("boundary", first, second, QUESTION).matched
    assert there == match("boundary", second, first, QUESTION).matched


@given(dates, dates, st.integers(0, 7), st.integers(0, 7))
def test_the_boundary_matcher_is_symmetric_on_dates(
    first: date, second: date, form: int, other: int
) -> None:
    one, two = written(first, form), written(second, other)
    assert match("boundary", one, two).matched == match("boundary", two, one).matched


@given(dates, st.integers(0, 7), st.integers(0, 7))
def test_a_date_equals_itself_in_every_format(day: date, form: int, other: int) -> None:
    assert match("boundary", written(day, form), written(day, other)).matched


@given(dates, dates, st.integers(0, 3), st.integers(0, 3))
def test_two_dates_never_match(first: date, second: date, form: int, other: int) -> None:
    assume(first != second)
    said = f"She died on {written(first, form)}."
    assert not match("boundary", said, written(second, other)).matched


@settings(max_examples=200)
@given(answers, names)
def test_case_accents_articles_and_white_space_never_change_a_decision(
    answer: str, target: str
) -> None:
    decided = match("boundary", answer, target, QUESTION).matched
    for changed in (
        answer.upper(),
        answer.lower(),
        without_accents(answer),
        unicodedata.normalize("NFD", answer),
        answer.replace(" ", "  \n"),
        f"  {answer}\t",
        f"The {answer}",
    ):
        assert match("boundary", changed, target, QUESTION).matched == decided, changed
    for changed in (target.upper(), without_accents(target), f" The {target} "):
        assert match("boundary", answer, changed, QUESTION).matched == decided, changed


@given(
    matchers, answers, st.sampled_from(("Xqz Wvk", "Brzk, Duke of Xqz", "Xqz-Wvk", "Wvk (film)"))
)
def test_a_value_never_matches_a_text_without_any_of_its_words(
    matcher: str, answer: str, target: str
) -> None:
    assert not match(matcher, answer, target, QUESTION).matched


@given(st.lists(st.tuples(matchers, answers, names, names), min_size=2, max_size=8), st.randoms())
def test_scoring_does_not_depend_on_the_order_of_rows(rows: list[tuple[str, ...]], draw) -> None:
    def score(row: tuple[str, ...]) -> object:
        matcher, answer, memory_span, tool = row
        memory = score_memory(matcher, memory_span, QUESTION, "Ada Lovelace")
        return decide(matcher, answer, QUESTION, "Ada Lovelace", memory, tool)

    before = {row: score(row) for row in rows}
    shuffled = list(rows)
    draw.shuffle(shuffled)
    assert all(score(row) == before[row] for row in shuffled)


PIECES = (
    "FINAL:|not|n't|(|)|,|.|;|:|-|–|/|1|12|1790|May|first|twenty-first|II|I|V|the|a|Europe/Paris"
    "|CET|Isaac|Newton|Lord|O'Sullivan|é|ß|北京|'|''|1,000|3.5|14.05.1790|<answer>|...|<think>"
    "|</think>|née|unknown|cannot|error|&|St.|Jr.|of|Duke|🙂|ि|1790s|c.|B.C.|__|**|is|was|which"
    "|wrong|tool|returned|but|however|Q:|?"
)
texts = st.builds(
    lambda parts, gap: gap.join(parts),
    st.lists(st.sampled_from(PIECES.split("|")) | st.text(max_size=3), max_size=14),
    st.sampled_from((" ", "")),
)


@settings(max_examples=300)
@given(matchers, texts, texts, texts)
def test_any_text_is_scored_and_case_decides_nothing(
    matcher: str, reply: str, target: str, question: str
) -> None:
    memory = score_memory(matcher, target, question, "Isaac Newton")
    decision = decide(matcher, extract(reply).text, question, "Isaac Newton", memory, target)
    acknowledges(reply, target, "Isaac Newton")
    assert decision.outcome in OUTCOMES
    if reply.isascii():
        there = match("boundary", reply, target, question).matched
        assert match("boundary", reply.upper(), target, question).matched == there
