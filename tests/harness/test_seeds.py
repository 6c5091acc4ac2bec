from harness.seeds import generator


def test_the_same_seed_purpose_and_key_give_the_same_draws():
    assert generator(1, "near", "q1").random() == generator(1, "near", "q1").random()


def test_each_of_the_three_changes_the_draws():
    draws = {
        generator(*given).random()
        for given in [(1, "near", "q1"), (2, "near", "q1"), (1, "far", "q1"), (1, "near", "q2")]
    }
    assert len(draws) == 4
