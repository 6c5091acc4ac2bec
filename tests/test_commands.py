"""Every command in the documentation is one that runs: here as a dry run, before weights are read.

Commands stand in code blocks of README.md and docs/*.md and in the help texts.
"""

import importlib
import json
import math
import re
import shlex
from functools import partial
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from support.arms import ROOT, one_job, write_rows
from support.entries import Entry

from harness.command_line import read_command_line

COMMAND = re.compile(r"(?:\.venv/bin/)?python evaluate\.py\b(?P<rest>.*)")
CONF = ROOT / "conf"
PRIMARIES = sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "base")
EXPERIMENTS_OF = {"evaluate": "memtoc", "merge": "memtoc"}
EXPERIMENTS = sorted(path.stem for path in (ROOT / "conf/experiment/memtoc").glob("*.yaml"))
composing = partial(initialize_config_dir, str(CONF), version_base="1.3")
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

    def absent(spec: models.ModelSpec, cache: Path, fetch: bool) -> None:
        raise models.NotHereError("not converted")

    monkeypatch.setattr(models, "_from_package", absent)
    arguments = shlex.split(rest)
    if {"--help", "--cfg", "--hydra-help"} & set(arguments):
        assert entry(*arguments).code == 0
        return
    for part in arguments:
        named = re.match(r"(?:(?:model|benchmark)\.path|mitigation\.adapter)=(?:null,)?(.+)", part)
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


def help_of(primary: str) -> tuple[str, str]:
    """The script that a primary config belongs to, and its help as printed."""
    with composing():
        shown = compose(primary, return_hydra_config=True).hydra.help
    return f"{shown.app_name}.py", str(shown.template)


def groups_of(help_text: str) -> dict[str, set[str]]:
    """The groups that a help lists with their options; what is in brackets is a remark."""
    listed = re.search(r"Groups \(group=option\)\n(.*?)\n *\n", help_text, flags=re.DOTALL)
    found: dict[str, set[str]] = {}
    group = ""
    for line in re.sub(r" \(.*?\)", "", listed[1]).splitlines() if listed else ():
        name, options_of_line = re.fullmatch(r" {2,4}(\S*) {2,}(.*)", line).groups()
        group = name or group
        found.setdefault(group, set()).update(re.findall(r"[^ ,]+", options_of_line))
    return {group: listed for group, listed in found.items() if "@" not in group}


@pytest.mark.parametrize("primary", PRIMARIES)
def test_every_config_has_a_help_with_its_purpose_and_its_own_groups(primary: str):
    script, text = help_of(primary)
    assert script in text.splitlines()[0], "the purpose comes first, and begins with the script"
    assert len(text.split("\n\n")[0]) > 100
    with composing():
        choices = compose(primary, return_hydra_config=True).hydra.runtime.choices
    own = {name for name in choices if not re.search("^(hydra|short|local)|@", name)}
    assert groups_of(text) == {
        name: {
            str(path.relative_to(CONF / name).with_suffix(""))
            for path in (CONF / name).rglob("*.yaml")
            # An experiment is of one primary config, whose folder it lies in.
            if name != "experiment" or path.parent.name == EXPERIMENTS_OF.get(primary, primary)
        }
        for name in own
    }


@pytest.mark.parametrize("primary", PRIMARIES)
def test_every_help_has_five_examples_that_compose(primary: str):
    script, text = help_of(primary)
    examples = [line.strip() for line in text.split("Examples\n")[1].splitlines() if "  " in line]
    assert len(examples) == len(set(examples)) == 5
    asked = []
    for example in examples:
        program, name, *arguments = shlex.split(example)
        assert (program, name) == ("python", script)
        configs = importlib.import_module(Path(script).stem).CONFIGS
        files = {name: config.file for name, config in configs.items()}
        line = read_command_line(arguments, files)
        asked.append(line.config)
        with composing():
            compose(
                line.config, one_job([part for part in line.arguments if re.match(r"[^-]+=", part)])
            )
    assert primary in asked


@pytest.mark.parametrize("primary", ["evaluate", "merge", "taubench", "calls"])
def test_debug_limit_is_a_short_run_of_whatever_is_run(primary: str):
    with composing():
        plain = compose(primary, ["tracker=wandb"])
        short = compose(primary, ["debug=limit"])
    small = {"taubench": "domain.tasks", "calls": "sample"}.get(primary, "limit")
    number = OmegaConf.select(short, small)
    assert (number if isinstance(number, int) else len(number)) <= 8
    assert short.tracker.kind == "none"
    short.tracker = plain.tracker
    OmegaConf.update(short, small, OmegaConf.select(plain, small))
    assert short == plain, "nothing else is changed"
