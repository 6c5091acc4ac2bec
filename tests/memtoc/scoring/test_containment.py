"""The paper's rules, reproduced with the faults that the boundary matcher mends."""

import pytest

from memtoc.scoring import abstains, match, score_memory


@pytest.mark.parametrize(
    ("answer", "target", "rule"),
    [
        ("The father is Lord Byron.", "Lord Byron", "contains"),
        ("Byron", "Lord Byron", "contains"),
        ("not Mark Twain", "Mark Twain", "contains"),
        ("Twainsville", "Twain", "contains"),
        ("St. Olaf", "Saint Olaf", "contains"),
        ("Mt Laurel", "Mount Laurel", "contains"),
        ("The Band", "A Band", "contains"),
        ("America/New_York", "america/new_york", "contains"),
        ("Samuel Clemens (a.k.a. Twain)", "Twain, Mark", "bracket"),
        ("Jane Doe (née Smith)", "Jane Smith", "bracket"),
        ("It is Stanley Park", "Stanley Park, Blackpool", "comma_head"),
        ("1790-05-14", "14 May 1790", "date"),
        ("She died May 14th, 1790 at home", "14 May 1790", "date"),
        ("the 14th of Sep 1790", "September 14, 1790", "date"),
        ("Paris", "Rome", "no_containment"),
        ("", "Rome", "no_containment"),
        ("The", "Rome", "no_containment"),
        ("Kurt Godel", "Kurt Gödel", "no_containment"),
        ("It is Blackpool", "Stanley Park, Blackpool", "no_containment"),
        ("It is Paris", "Paris, France", "no_containment"),
    ],
)
def test_containment_decides_by_the_rule_of_the_paper(answer: str, target: str, rule: str) -> None:
    decided = match("containment", answer, target)
    assert (decided.matched, decided.rule) == (rule != "no_containment", rule)


@pytest.mark.parametrize(
    ("span", "abstain"),
    [
        ("Unknown", True),
        ("I cannot answer the question.", True),
        ("I'm not sure, but it might be Paris.", True),
        ("The output does not provide it, but it is Paris.", True),
        ("Q: Who is it?", True),
        ("Who is it?", False),
        ("Paris", False),
        ("", False),
    ],
)
def test_the_paper_counts_a_set_phrase_anywhere_as_a_refusal(span: str, abstain: bool) -> None:
    assert abstains("containment", span).matched is abstain


def test_a_hedged_memory_is_absent_for_the_paper_and_present_in_ours() -> None:
    span, question = "I'm not sure, but it might be Moor Park.", "Which park?"
    assert score_memory("containment", span, question, "Moor Park").absent
    ours = score_memory("boundary", span, question, "Moor Park")
    assert (ours.absent, ours.correct) == (False, True)
