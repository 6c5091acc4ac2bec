"""What kind of thing a question asks for."""

import pytest

from memtoc.scoring.asked import asked_kinds

CASES = {
    "Who wrote Emma?": "person",
    "Emma was written by whom?": "person",
    "Which film director made Alien?": "person",
    "What is the name of the author of Emma?": "person",
    "In the film Alien, who played Ripley?": "person",
    "What country's king was he?": "person",
    "Who is the manufacturer of the Beetle?": "company person",
    "Which river flows through Rome?": "place river",
    "Can you name the river that flows through Rome?": "place river",
    "What is the full name of the lake that feeds the Nile?": "lake place",
    "Name the lake where he drowned.": "lake place",
    "What is the capital city of the state of Ohio?": "city place",
    "The capital of France is": "city place",
    "To which country does the island of Bornholm belong?": "country place",
    "What is the official currency of the country where he was born?": "currency",
    "Where does the father of Ada live?": "place",
    "When did he die?": "date year",
    "In what year was it built?": "year",
    "How many people live in the city?": "number",
    "What time zone is Oslo in?": "zone",
    "What weapon killed the king?": "",
    "What did the king of Spain discover?": "",
    "": "",
}


@pytest.mark.parametrize("question", CASES)
def test_the_kind_is_that_of_the_noun_or_word_that_the_question_asks_with(question: str) -> None:
    assert asked_kinds(question) == set(CASES[question].split())


def test_an_endless_noun_group_ends() -> None:
    assert asked_kinds("Name of the type of the kind of " * 500) == frozenset()
