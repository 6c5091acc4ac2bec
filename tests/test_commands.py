"""Every command in the documentation is one that runs: here as a dry run, before weights are read.

Commands stand in code blocks of README.md and docs/*.md and in the help texts.
"""

import json
import math
import re
import shlex
from pathlib import Path

import pytest
import yaml
from arms import ROOT, write_rows
from entries import Entry
from hydra.core.override_parser.overrides_parser import OverridesParser

COMMAND = re.compile(r"(?:\.venv/bin/)?python evaluate\.py\b(?P<rest>.*)")
EXPERIMENTS = sorted(path.stem for path in (ROOT / "conf/experiment/memtoc").glob("*.yaml"))
MAPPING = {
    "id": "13.0", "chain": 13, "hop": 0, "question": "Who found Rejuvelac?", "gold": "Ann Wigmore",
    "kind": "person", "family": "free_form", "near": "Sylvia Nasar", "near_repaired": None,
    "far": "Adelheid Gallitzin", "review": "pass", "fold": "B", "source": "wikidata",
    "method": "wikidata_person", "wikidata": {},
}  # fmt: skip


def blocks(text: str) -> list[str]:
    """The lines of a Markdown file's code blocks, continued lines joined; indented ones too."""
    text = re.sub(r"\\\n\s*", " ", text)
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^ {4,}\S.*$", text, flags=re.MULTILINE)
    return [line.strip() for block in (*fenced, *indented) for line in block.splitlines()]


def documented() -> list[str]:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    files += sorted((ROOT / "conf/hydra/help").glob("*.yaml"))
    found = []
    for path in files:
        for line in blocks(path.read_text(encoding="utf-8")) if path.exists() else []:
            command = COMMAND.match(line.split(" #")[0])
            if command:
                found.append(command["rest"].strip())
    return sorted(set(found))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files that documented commands name, in the folder that they run in."""
    write_rows(tmp_path / "questions.jsonl", [MAPPING])
    (tmp_path / "my.csv").write_text(
        "question,answer,near\nWho wrote Emma?,Jane Austen,Anne Bronte\n"
    )
    return tmp_path


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_dry(entry: Entry, files: Path, name: str):
    content = yaml.safe_load((ROOT / f"conf/experiment/memtoc/{name}.yaml").read_text())
    params = content["hydra"]["sweeper"]["params"]
    first, *others = params["model"].split(",")
    if len(others) > 1:  # four models differ in their names alone, which test_configs holds
        params["model"] = first
    arms = math.prod(len(values.split(",")) for values in params.values())
    ended = entry(
        f"experiment=memtoc/{name}", f"model={params['model']}",
        "benchmark.path=questions.jsonl", "dry_run=true", "tracker=none",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert f"{arms} arms: {arms} dry run; model loads: 0" in ended.out


def test_there_are_documented_commands():
    assert len(documented()) >= 5


def one_job(overrides: list[str]) -> list[str]:
    """A sweep's first combination, without a launcher."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    plain = [item for item in parsed if not item.key_or_group.startswith("hydra")]
    return [
        f"{item.get_key_element()}={next(item.sweep_string_iterator())}"
        if item.is_sweep_override()
        else str(item.input_line)
        for item in plain
    ]


ELSEWHERE = ("--config-name", "launcher")  # other tasks, other environments: composed only


@pytest.mark.parametrize(
    "rest", [rest for rest in documented() if any(word in rest for word in ELSEWHERE)]
)
def test_every_documented_command_composes(entry: Entry, rest: str):
    arguments = shlex.split(rest)
    flags = [part for part in arguments if part.startswith("-") and part != "-m"]
    ended = entry(*flags, *one_job([part for part in arguments if part[0] != "-"]), "--cfg", "job")
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    "rest", [rest for rest in documented() if not any(word in rest for word in ELSEWHERE)]
)
def test_every_documented_arm_runs_dry(
    entry: Entry, files: Path, rest: str, monkeypatch: pytest.MonkeyPatch
):
    """The embedded model is not converted for this: it counts as a model that is not here."""
    from harness import models

    def absent(spec: models.ModelSpec, cache: Path) -> None:
        raise models.NotHereError("not converted")

    monkeypatch.setattr(models, "_from_package", absent)
    arguments = shlex.split(rest)
    if {"--help", "--cfg", "--hydra-help"} & set(arguments):
        assert entry(*arguments).code == 0
        return
    for part in arguments:
        named = re.match(r"(?:model|benchmark)\.path=(.+)", part)
        if named and not Path(named[1]).exists():
            pytest.skip(f"{named[1]} is a file of the user's")
    ended = entry(*arguments, "dry_run=true")
    assert ended.code == 0, ended.err
    assert "distinct prompts" in ended.out


def test_models_that_are_not_here_are_shown_without_their_template(
    entry: Entry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    ended = entry("-m", "model=qwen,gemma", "formulation=ref,paraA", "dry_run=true", "tracker=none")
    assert ended.code == 0
    assert "4 arms: 4 dry run" in ended.out
    assert ended.out.count("model 'qwen' is not here: prompts without its template") == 2
    assert ended.out.count("model 'gemma' is not here: prompts without its template") == 2
    assert ended.out.count("prompt tokens (estimated at 4 characters a token)") == 4


def test_an_agent_of_a_wandb_sweep_gets_a_command_that_runs(entry: Entry, files: Path):
    """An agent puts each parameter in the place of ${args_no_hyphens}, as key=value."""
    sweep = yaml.safe_load((ROOT / "wandb_sweep.yaml").read_text(encoding="utf-8"))
    assert sweep["program"] == "evaluate.py"
    template = sweep["command"]
    assert template[:3] == ["${env}", "${interpreter}", "${program}"]
    for place in (0, -1):
        chosen = [f"{key}={item['values'][place]}" for key, item in sweep["parameters"].items()]
        at = template.index("${args_no_hyphens}")
        arguments = [*template[3:at], *chosen, *template[at + 1 :]]
        assert "tracker.mode=online" in arguments
        ended = entry(*arguments, "dry_run=true", "tracker.mode=offline", "engine=mock")
        assert ended.code == 0, ended.err
    metrics = json.dumps(sweep["metric"])
    assert "boundary/" in metrics
