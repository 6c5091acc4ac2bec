import random

import pytest

from harness.errors import UserError
from memtoc.sources.csv_source import load, read

ROWS = """question,answer,near,far,aliases,chain,fold
In which city did Gustav Mahler die?,Vienna,Graz,Kyoto,Wien|Vienna (Austria),mahler,
When was Gustav Mahler born?,7 July 1860,9 May 1861,,,mahler,B
Who is the director of Alien?,Ridley Scott,John Carpenter,,,,
"""


def saved(tmp_path, text):
    path = tmp_path / "my.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_arm_and_a_build_read_the_same_questions(tmp_path):
    path = saved(tmp_path, ROWS)
    as_they_are, to_build = load(path, "mine").questions, read(path)
    assert [(q.id, q.text, q.gold, q.near, q.far, q.chain, q.aliases) for q in as_they_are] == [
        (q.id, q.text, q.gold, q.near, q.far, q.chain, q.aliases) for q in to_build
    ]
    first = as_they_are[0]
    assert first.aliases == ("Wien", "Vienna (Austria)")
    assert [q.kind for q in as_they_are] == ["other_string", "date", "other_string"]


def test_ids_depend_on_neither_the_order_nor_the_other_rows(tmp_path):
    header, *rows = ROWS.splitlines()
    first = {q.text: (q.id, q.hop) for q in read(saved(tmp_path, ROWS))}
    random.Random(1).shuffle(rows)
    shuffled = saved(tmp_path, "\n".join([header, *reversed(rows)]) + "\n")
    assert {q.text: (q.id, q.hop) for q in read(shuffled)} == first
    less = saved(tmp_path, "\n".join([header, rows[0]]) + "\n")
    (question,) = read(less)
    assert question.id == first[question.text][0]


def test_chains_stay_in_the_fold_that_one_of_their_rows_gives(tmp_path):
    folds = {q.chain: q.fold for q in load(saved(tmp_path, ROWS), "mine").questions}
    assert folds["mahler"] == "B" and set(folds.values()) <= {"A", "B"}
    crossing = ROWS.replace("mahler,\n", "mahler,A\n")
    with pytest.raises(UserError, match="row 3: fold B, but chain 'mahler' is in A above"):
        load(saved(tmp_path, crossing), "mine")


def test_tabs_and_line_breaks_in_a_cell_count_as_a_space(tmp_path):
    text = 'question,answer,near\n"In which town\r\n  did\tMahler die? ","Vien\n na",Graz\n'
    (question,) = load(saved(tmp_path, text), "mine").questions
    assert (question.text, question.gold) == ("In which town did Mahler die?", "Vien na")


def test_only_an_arm_needs_near_values(tmp_path):
    path = saved(tmp_path, "question,answer\nWho?,x\n")
    assert read(path)[0].near is None
    with pytest.raises(UserError, match="the header is question, answer: add it, or let python b"):
        load(path, "mine")
    path = saved(tmp_path, "question,answer,near\nWho?,x,\nWhen?,y,\nWhere?,z,a\nWhat?,w,\n")
    with pytest.raises(UserError) as caught:
        load(path, "mine")
    assert "row 2: 'near' is empty" in str(caught.value)
    assert "(wrong too: 2 more, rows 3, 5)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,answer,neer\nWho?,x,y\n", "row 1: unknown column 'neer': did you mean 'near'"),
        ("question,answer,near\nWho?,x,X!\n", "row 2: near 'X!' equals the answer"),
        ("question,answer,near\nWhen?,12 March 1874,1874-03-12\n", "is scored as the answer"),
        ("question,answer,near,aliases\nWho?,x,y,y|z\n", "near 'y' equals the alias 'y'"),
        ("question,answer,near,near\nWho?,x,y,z\n", "row 1: column 'near' stands twice"),
        ("question,answer,near,far\nWho?,x,y,y\n", "row 2: far 'y' equals the near"),
        ("question,answer,id\nWho?,x,1a\n", "row 2: id '1a' must be a letter"),
        ("question,answer,id\nWho?,x,a\nWhen?,y,a\n", "row 3: id 'a' stands already in row 2"),
        ("question,answer\nWho?,x\nwho,x\n", "row 3: id 'q.*' stands already in row 2"),
        ("question,answer,fold\nWho?,x,C\n", "row 2: unknown fold 'C'"),
        ("question,answer,family\nWho?,x,free\n", "row 2: unknown family 'free'"),
        ("question,answer\nWho?\n", "row 2: 1 cells under 2 columns"),
        ("question,answer\nWho?,x\nWh\0o is it?,y\n", "row 3: 'question' holds a control"),
        ("question,answer\nWho?,x\x1b[2Jy\n", "row 2: 'answer' holds a control character"),
        ("question,answer,near\nWho?,x,\x07\n", "row 2: 'near' holds a control character"),
        ("question,answer,aliases\nWho?,x,y|z\x85\n", "row 2: 'aliases' holds a control"),
        ("question,answer\nWho?,\u200b\n", "row 2: 'answer' shows nothing"),
        ("question,near\nWho?,x\n", "row 1: column 'answer' is missing: the header is question, "
                                    "near: add it$"),
        ("Who wrote Emma?,Jane Austen\nWho?,x\n",
         "the header is Who wrote Emma\\?, Jane Austen: add it"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named(tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        read(saved(tmp_path, text))
