"""Prefix trees: what each token sees, and how much is kept."""

import random

import numpy as np
import pytest

from harness.completions import Decoding, Message, Request
from harness.engines.batches import MIN_WAVE_ROWS, plan_batches, plan_scores
from harness.engines.kv import OWN, SEATS, stem_groups
from harness.engines.prefixes import tree_of


def random_sequences(seed: int) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(3) for _ in range(draw.randrange(1, 30))] for _ in range(40)]


@pytest.mark.parametrize("seed", range(5))
def test_paths_spell_the_sequences_and_no_prefix_stands_twice(seed):
    sequences = random_sequences(seed)
    tree = tree_of(sequences)
    for sequence, path in zip(sequences, tree.paths, strict=True):
        assert [tree.tokens[place] for place in path] == sequence
        assert [tree.depths[place] for place in path] == list(range(len(sequence)))
    prefixes = {tuple(s[: at + 1]) for s in sequences for at in range(len(s))}
    assert len(tree.tokens) == len(prefixes)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_token_sees_its_own_path_and_nothing_else(size):
    tree = tree_of(random_sequences(9))
    above = {place: set(path[: at + 1]) for path in tree.paths for at, place in enumerate(path)}
    chunks = list(tree.chunks(size))
    assert [place for c in chunks for place in range(c.start, c.end)] == list(range(len(above)))
    for chunk in chunks:
        assert chunk.end - chunk.start <= size
        for row, place in enumerate(range(chunk.start, chunk.end)):
            assert set(chunk.visible[chunk.mask[row]]) == above[place]


def test_a_stem_is_common_to_its_rows_and_leaves_each_little_of_its_own():
    draw = random.Random(1)
    stem, other = ([draw.randrange(50) for _ in range(300)] for _ in range(2))
    sequences = [stem + [draw.randrange(50) for _ in range(at)] for at in range(1, OWN)]
    paths = tree_of([*sequences, other]).paths
    groups = stem_groups(paths)
    assert sorted(row for group in groups for row in group.rows) == list(range(len(paths)))
    assert len(groups) <= len(paths) / SEATS + 2
    for group in groups:
        assert len(group.rows) <= SEATS
        first = paths[group.rows[0]][: group.length]
        for row in group.rows:
            assert np.array_equal(paths[row][: group.length], first)
            assert len(paths[row]) - group.length <= OWN


GREEDY = Decoding("g", 0.0, 64)


def requests(number: int, decoding: Decoding = GREEDY, stop=()) -> list[Request]:
    return [Request((Message("user", str(at)),), decoding, stop) for at in range(number)]


def test_neighbours_in_the_tree_are_computed_together():
    prompts = [[at % 4, 9, 9, 9, at] for at in range(40)]
    waves = plan_batches(requests(40), prompts, range(40), batch_tokens=50)
    assert all(len({prompts[index][0] for index in wave}) == 1 for wave in waves)


def test_long_texts_make_small_waves_and_never_tiny_ones():
    long = requests(40, Decoding("g", 0.0, 4096))
    waves = plan_batches(long, [[1, at] for at in range(40)], range(40), batch_tokens=9000)
    assert max(len(wave) for wave in waves) == MIN_WAVE_ROWS


def test_choices_are_scored_in_groups_of_bounded_size():
    prompts = [[1] * 90 + [at] for at in range(20)]
    sizes = [100] * 20
    groups = plan_scores(requests(20), prompts, sizes, batch_tokens=150)
    assert sorted(index for group in groups for index in group) == list(range(20))
    assert max(len(group) for group in groups) == 6  # 100, and 10 for each further one
    both = [*requests(3), *requests(3, stop=("x",))]
    assert len(plan_scores(both, [[1]] * 6, [3] * 6, 100)) == 2
