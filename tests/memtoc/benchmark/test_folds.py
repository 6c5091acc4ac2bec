import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import UserError
from memtoc.benchmark.drafts import SourceQuestion
from memtoc.benchmark.folds import (
    Member,
    assign_folds,
    crossings,
    imbalance,
    load_folds,
    origin_of,
)
from memtoc.construction.screening import screen

RELEASED = Path(__file__).parents[4] / "shared/data/memtoc/questions.jsonl"


def member(number, chain=None, groups=(), kind="person", family="genealogy", origin="human"):
    return Member(f"q{number}-0", str(chain or number), kind, family, origin, tuple(groups))


members = st.lists(
    st.builds(
        lambda chain, group, kind, origin: (chain, group, kind, origin),
        st.integers(0, 12),
        st.sampled_from(["", "", "", "a", "b", "c"]),
        st.sampled_from(["person", "date", "place"]),
        st.sampled_from(["human", "machine"]),
    ),
    min_size=1,
    max_size=60,
).map(
    lambda rows: [
        Member(f"q{n}-0", f"c{chain}", kind, "free_form", origin, (group,) if group else ())
        for n, (chain, group, kind, origin) in enumerate(rows)
    ]
)


@settings(max_examples=60, deadline=None)
@given(members=members, seed=st.integers(0, 99), shuffle=st.randoms(use_true_random=False))
def test_nothing_crosses_and_the_order_changes_nothing(members, seed, shuffle):
    folds = assign_folds(members, seed)
    assert set(folds) == {m.id for m in members}
    assert crossings(members, folds) == []
    shuffle.shuffle(members)
    assert assign_folds(members, seed) == folds


def test_the_imbalance_is_the_stated_sum():
    pair = [member(1), member(2, kind="date", origin="machine")]
    assert imbalance(pair, {"q1-0": "A", "q2-0": "B"}) == 0 + 0 + (1 + 1) + (1 + 1) + 0.25 * 2
    assert imbalance(pair, {"q1-0": "A", "q2-0": "A"}) == 4 + 4 + (1 + 1) + (1 + 1) + 0.25 * 2


def test_a_divisible_set_is_divided_evenly():
    rows = [
        member(n, kind=kind, origin=origin)
        for n, (kind, origin) in enumerate(
            [(k, o) for k in ("person", "date") for o in ("human", "machine") for _ in range(6)]
        )
    ]
    assert imbalance(rows, assign_folds(rows, 5)) == 0


def test_a_crossing_chain_and_a_crossing_group_are_named():
    rows = [member(1, chain=7), member(2, chain=7), member(3, groups=["q3-0"]),
            member(4, groups=["q3-0"])]  # fmt: skip
    folds = {"q1-0": "A", "q2-0": "B", "q3-0": "A", "q4-0": "B"}
    assert crossings(rows, folds) == ["chain 7", "group q3-0"]


def test_the_seed_changes_the_folds():
    rows = [member(n) for n in range(40)]
    assert len({tuple(assign_folds(rows, seed).items()) for seed in range(5)}) > 1


def test_published_folds_are_loaded_for_the_questions_at_hand(tmp_path):
    path = tmp_path / "folds.csv"
    path.write_text("id,fold\nq1-0,A\nq2-0,B\nq3-0,A\n")
    assert load_folds(path, ["q2-0", "q1-0"]) == {"q2-0": "B", "q1-0": "A"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,fold\nq1-0,A\nq1-0,B\n", "row 3: id 'q1-0' stands twice"),
        ("id,fold\nq1-0,C\n", "row 2: give an id and a fold"),
        ("question,fold\nq1-0,A\n", "row 1: column 'id' is missing"),
        ("id,fold\nq9-0,A\n", r"no fold for 'q1-0' \(1 missing\)"),
    ],
)
def test_a_wrong_assignment_is_refused(tmp_path, content, message):
    path = tmp_path / "folds.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        load_folds(path, ["q1-0"])


def test_a_missing_assignment_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"folds\.csv"):
        load_folds(tmp_path / "folds.csv", ["q1-0"])


@pytest.mark.skipif(not RELEASED.is_file(), reason="the released mapping is not on this machine")
@pytest.mark.parametrize("seed", range(3))
def test_our_folds_of_the_released_questions_are_at_least_as_even_as_the_published(seed):
    rows = [json.loads(line) for line in RELEASED.read_text(encoding="utf-8").splitlines()]
    random.Random(seed).shuffle(rows)
    drafts = screen(
        SourceQuestion(str(r["chain"]), r["hop"], r["question"], r["gold"], kind=r["kind"])
        for r in rows
    )
    source = {f"q{r['chain']}-{r['hop']}": r for r in rows}
    members = [
        Member(d.id, d.chain, d.kind, d.family, origin_of(source[d.id]["source"]),
               tuple(g for g in (d.duplicate_group, d.linked_group) if g))
        for d in drafts
    ]  # fmt: skip
    published = {m.id: source[m.id]["fold"] for m in members}
    assert Counter(published.values()) == {"A": 287, "B": 288}
    chains_alone = [Member(m.id, m.chain, m.kind, m.family, m.origin) for m in members]
    assert crossings(chains_alone, published) == []
    ours = assign_folds(members, seed)
    assert crossings(members, ours) == []
    assert imbalance(members, ours) <= imbalance(members, published)
