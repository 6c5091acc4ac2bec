"""The argument that an error shows is typed into bash and read by Hydra: it must be the text."""

import subprocess

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from harness.quoting import argument, retyped, split_text

NAMES = (
    "runs/epoch=3/q.csv", "copy (1).csv", "R&D/q.csv", "a,b.csv", "O'Brien/q.csv", "Müller/q.csv",
    "数据/q.csv", "my file.csv", "a;b.csv", "a#b!.csv", "[x].csv", "{x}.csv", 'say "hi".csv',
    'it\'s "x".csv', "$HOME/x.csv", "a`b`.csv", "C:\\x=1\\", "é=\\.csv", "100%=1.csv",
    "a${b}=c.csv", "x<y>|z.csv", "tab\there.csv", "Ünï (2)'s & co, =1.csv", "'quoted' start=1.csv",
)  # fmt: skip


def typed_into_bash(argument: str) -> list[str]:
    """Give the words that a program gets when this is typed at bash's prompt."""
    ended = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {argument}"], capture_output=True, check=True
    )
    return ended.stdout.decode("utf-8").split("\0")[:-1]


def read_by_hydra(word: str):
    override = OverridesParser.create().parse_override(word)
    return OmegaConf.create({"value": override.value()}).value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", ["benchmark.path", "arm", "model.path", "+planner.model.path"])
def test_what_is_shown_is_the_text_once_typed(key, name):
    (word,) = typed_into_bash(argument(key, name))
    assert word.startswith(f"{key}=") and read_by_hydra(word) == name


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_any_text_can_be_typed(text):
    (word,) = typed_into_bash(argument("arm", text))
    assert read_by_hydra(word) == text


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("arm=[runs/epoch=3,runs/b]", ["runs/epoch=3", "runs/b"]),
        ("arm=[x].csv", "[x].csv"),
        ("arm={x}.csv", "{x}.csv"),
    ],
)
def test_lists_and_names_that_look_like_them(override, value):
    (word,) = typed_into_bash(retyped(override))
    assert read_by_hydra(word) == value


def test_each_text_of_a_sweep_is_quoted_by_itself():
    (word,) = typed_into_bash(retyped("arm=epoch=1,epoch=2", sweeps=True))
    assert word == 'arm="epoch=1","epoch=2"'


def test_a_text_cut_at_its_spaces_is_put_together():
    cut = ["seed=1", "benchmark.path=my", "old", "file.csv", "limit=3"]
    (word,) = typed_into_bash(split_text(cut, "old"))
    assert read_by_hydra(word) == "my old file.csv"
    assert split_text(["-m", "file.csv"], "file.csv") is None


@pytest.mark.parametrize("override", ["conditions=[tool_right", 'arm="a', "file.csv", "~=3"])
def test_where_quotes_are_no_remedy_there_is_none(override):
    assert retyped(override) is None
