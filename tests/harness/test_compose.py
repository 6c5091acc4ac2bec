"""What the command line's mistakes are called: the key, what it takes, and whose it is."""

import re
import subprocess
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from support.entries import Entry

QUIET = ("engine=mock", "tracker=none", "limit=1")


def line(text: str) -> str:
    (only,) = [item for item in text.splitlines() if item]
    return only


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("frame.value={a: 1}", "frame.value.a: no such setting: choose one of: frame.value.result"),
        ("model={nam: x}", "model.nam: no such setting: did you mean 'model.name'?"),
        ("limit.x=3", "limit.x: no such setting: limit is one value: write limit=..."),
        ("conditions={a: 1}", "does not fit: a list is needed, as in 'conditions=[a,b]'"),
        ("payload.error=[1]", "set one by one, as in payload.error.name=value"),
        ("clauses=[1]", "set one by one, as in clauses.name=value"),
        ("hydra.mode=FOO", "hydra.mode=FOO does not fit: invalid value 'FOO', expected one of"),
        ("dry_run=maybe", "dry_run='maybe' does not fit: input should be a valid boolean"),
        ("hydra.job.num=maybe", "hydra.job.num=maybe does not fit: value 'maybe'"),
        ("hydra.job.nam=x", "hydra.job.nam: no such setting: did you mean 'hydra.job.name'?"),
        ("+limit=3", "leave out the +"),
        ("+model=qwen", "leave out the +"),
        ("LIMIT=5", "LIMIT: no such setting: did you mean 'limit'?"),
        ("~limt", "limt: no such setting: did you mean 'limit'?"),
    ],
)
def test_a_value_or_key_that_does_not_fit_is_told_what_does(
    entry: Entry, override: str, words: str
):
    ended = entry(*(given for given in QUIET if given[:5] not in override), override)
    assert ended.code == 2
    assert words in line(ended.err)


def test_a_wrong_key_of_hydra_s_is_compared_with_hydra_s_keys(entry: Entry):
    message = line(entry(*QUIET, "hydra.zzzz=1").err)
    assert "hydra.launcher" in message
    assert "benchmark" not in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agent=react"], "'agent' belongs to evaluate.py --config-name=taubench"),
        (["planner.model.name=x"], "'planner' belongs to evaluate.py --config-name=taubench"),
        (["shards=3"], "'shards' belongs to evaluate.py --config-name=merge"),
        (["distractors=wikidata"], "'distractors' belongs to build.py"),
        (["source=x"], "'source' belongs to build.py --config-name=taubench"),
        (["--config-name=taubench", "limit=3"], "'limit' belongs to evaluate.py"),
        (["--config-name=calls", "frame=passage"], "'frame' belongs to evaluate.py"),
        (["--config-name=merge", "shards=2", "user=llm"], "--config-name=taubench"),
    ],
)
def test_a_setting_of_another_config_is_told_where_it_belongs(
    entry: Entry, arguments: list[str], words: str
):
    ended = entry(*arguments)
    assert ended.code == 2
    assert words in line(ended.err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["engine=mock"],
            "engine@planner.engine=mock (with planner=llm), engine@tool_agent.engine",
        ),
        (["engine=mock", "planner=llm"], "engine@planner.engine=mock, engine@tool_agent.engine="),
        (["engine=mock", "user=react"], "engine@user.engine=mock"),
        (
            ["engine.reply=x"],
            "planner.engine.reply=x (with planner=llm), tool_agent.engine.reply=x",
        ),
        (["model=qwen"], "model@tool_agent.model=qwen"),
        (["decoding.temperature=1"], "tool_agent.decoding.temperature=1"),
    ],
)
def test_a_setting_that_each_role_has_names_the_roles(
    entry: Entry, arguments: list[str], words: str
):
    ended = entry("--config-name=taubench", *arguments)
    assert ended.code == 2
    assert words in line(ended.err)
    assert "belongs to" not in ended.err


def test_a_config_with_one_role_names_that_one(entry: Entry):
    ended = entry("--config-name=calls", "engine=mock")
    assert line(ended.err).endswith("role here: engine@tool_agent.engine=mock")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "no such option: choose one of: basic, joblib, ray"),
        ("submitit_slrum", "no such option: did you mean 'submitit_slurm'?"),
        ("joblib", "not installed: pip install hydra-joblib-launcher"),
    ],
)
def test_only_launchers_that_exist_are_called_not_installed(entry: Entry, name: str, words: str):
    assert f"hydra/launcher={name}: {words}" in line(entry(*QUIET, f"hydra/launcher={name}").err)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("limit: [1\nseed: 2", 'more/local/default.yaml", line 2'),
        ("- a\n", "local/default.yaml (under conf/ or --config-dir): a list stands where"),
        ("model: [1]\n", "local/default.yaml (under conf/ or --config-dir): a list stands where"),
        ("conditions: {a: 1}\n", "default.yaml (under conf/ or --config-dir): a list stands"),
        ("defaults:\n  - override /model: qwem\n", "model=qwem: no such option: did you mean"),
    ],
)
def test_a_file_of_settings_that_cannot_be_read_is_named(
    entry: Entry, tmp_path: Path, content: str, words: str
):
    file = tmp_path / "more" / "local" / "default.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    ended = entry(*QUIET, "--config-dir", "more")
    assert ended.code == 2
    assert words in line(ended.err)


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "seed: 17\n"])
def test_a_file_of_settings_may_be_empty_and_needs_no_header(
    entry: Entry, tmp_path: Path, content: str
):
    file = tmp_path / "more" / "local" / "default.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    ended = entry(*QUIET, "--config-dir", "more", "--cfg", "job")
    assert ended.code == 0
    assert f"\nseed: {17 if 'seed' in content else 0}\n" in ended.out


NAMES = (
    "runs/epoch=3", "copy (1)", "R&D", "a,b", "O'Brien", "Müller", "数据", "2024", "1e3",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "given", [("benchmark=csv", "benchmark.path={}/q.csv"), ("model.path={}",), ("paths.cache={}",)]
)
def test_the_very_argument_for_a_path_is_shown(
    entry: Entry, given: tuple[str, ...], name: str, tmp_path: Path
):
    """Typed into bash, it is read as the path, which then need not be quoted by anybody."""
    *others, template = given
    path = template.format(name)
    refused = entry(*QUIET, *others, path)
    if refused.code == 0 or "is not a file" in refused.err:  # 2024/q.csv and copy (1) are read
        return
    message = line(refused.err)
    assert "Exception" not in message and "mismatched" not in message
    typed = re.search(r"(?:type|one text as) (['\"].*)$", message)
    assert typed, message
    shown = subprocess.run(
        ["bash", "-c", f"printf %s {typed[1]}"], capture_output=True, check=True, text=True
    )
    key, _, text = path.partition("=")
    assert OverridesParser.create().parse_override(shown.stdout).value() == text
    assert entry(*QUIET, *others, shown.stdout).code == 0 or key == "benchmark.path"


def test_a_text_that_the_shell_cut_is_put_together(entry: Entry):
    ended = entry(*QUIET, "benchmark=csv", "benchmark.path=my", "old", "file.csv")
    assert "old: write key=value" in line(ended.err)
    assert line(ended.err).endswith("'benchmark.path=\"my old file.csv\"'")
    assert line(entry(*QUIET, "file.csv").err) == "error: file.csv: no setting: write key=value"
