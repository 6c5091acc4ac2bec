import json
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.json_files import deeper_than, json_if_readable, read_json, read_jsonl


def save(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path):
    path = save(tmp_path / "a.json", b'\xef\xbb\xbf{"a": 1}\n\n{"b": 2}\n')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (3, {"b": 2})]
    assert read_json(save(path, b"\xef\xbb\xbf[1]")) == [1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory: look again"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"{", "not valid JSON"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_json_is_one_line_that_names_the_file(tmp_path: Path, content, said):
    path = tmp_path / "a.json"
    if content is not None:
        save(path, content)
    with pytest.raises(UserError) as error:
        read_json(path, missing="look again", broken="write it anew")
    assert str(path) in str(error.value) and said in str(error.value)
    if "not valid JSON" in said:
        assert str(error.value).endswith(": write it anew")
    with pytest.raises(UserError, match=str(path)) as error:
        list(read_jsonl(path, missing="look again"))
    assert said in str(error.value)
    assert json_if_readable(path) == ({"a": 2} if "twice" in said else None)


@pytest.mark.parametrize("row", [b"NaN", b'{"a": Infinity}', b"[1]"])
def test_a_row_that_is_no_object_is_named(tmp_path: Path, row: bytes):
    with pytest.raises(UserError, match=r"a\.jsonl row 2: "):
        list(read_jsonl(save(tmp_path / "a.jsonl", b"{}\n" + row + b"\n")))


@pytest.mark.parametrize(
    ("text", "levels"), [("1", 0), ("[]", 0), ("[1]", 1), ('{"a": [1, {"b": 2}]}', 3)]
)
def test_levels_are_those_of_lists_and_objects(text: str, levels: int):
    value = json.loads(text)
    assert not deeper_than(value, levels)
    assert not levels or deeper_than(value, levels - 1)


def test_levels_are_counted_without_recursion():
    value: list = []
    for _ in range(5_000):
        value = [value]
    assert deeper_than(value, 4_999) and not deeper_than(value, 5_000)
