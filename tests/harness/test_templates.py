from harness.templates import fill, fill_all


def test_what_is_put_in_is_not_read_again_and_other_braces_stay():
    text = fill('{a} {b} {c} {"a": {}}', a="{b}", b="two")
    assert text == '{b} two {c} {"a": {}}'


def test_every_string_of_a_json_value_is_filled():
    template = {"{a}": ["{a}", 1, None, {"in": "<{a}>"}]}
    assert fill_all(template, a="x") == {"{a}": ["x", 1, None, {"in": "<x>"}]}
