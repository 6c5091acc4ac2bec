"""The embedded benchmark: its rows, and tools that look their facts up."""

import pytest

from memtoc.questions import Question
from memtoc.sources import starter

QUESTIONS = starter.load().questions
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)


@each_question
def test_stored_arguments_give_the_gold(question: Question) -> None:
    returned = starter.call(question.tool.name, question.tool.arguments)
    assert returned == {"status": "ok", "result": question.gold}
