"""Every file under conf/ composes, and what experiments and options may not do."""

import json
import operator
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from support.arms import ROOT, compose_config, options
from support.entries import Entry

import evaluate
from harness.errors import UserError
from harness.settings import resolve

CONF = ROOT / "conf"
EXPERIMENTS = sorted(path.stem for path in (CONF / "experiment" / "memtoc").glob("*.yaml"))
PRIMARIES = sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "base")
GROUPS = ("benchmark", "decoding", "elicitation", "engine", "formulation", "frame", "layout",
          "mitigation", "model", "payload", "tracker")  # fmt: skip


def loaded(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def defaults_of(primary: str) -> set[str]:
    """The groups in a primary config's defaults, those of a config that it extends included."""
    names: set[str] = set()
    for item in loaded(CONF / f"{primary}.yaml").get("defaults", ()):
        if isinstance(item, dict):
            (name,) = item
            names.add(str(name).split()[-1].split("@")[0])
        elif item != "_self_":
            names |= defaults_of(item)
    return names


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_a_sweep_over_options_that_exist(name: str):
    content = loaded(CONF / "experiment" / "memtoc" / f"{name}.yaml")
    assert content["hydra"]["mode"] == "MULTIRUN"
    params = content["hydra"]["sweeper"]["params"]
    assert params
    plain = compose_config()
    for key, values in params.items():
        if (CONF / key).is_dir():
            assert set(values.split(",")) <= set(options(key)), key
        else:
            group, leaf = key.split(".")
            assert leaf in plain[group]


@pytest.mark.parametrize(("primary", "name"), [("taubench", "agents"), ("calls", "constrained")])
def test_an_experiment_of_the_other_line_sweeps_over_what_is_there(primary: str, name: str):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose(primary, [f"experiment={primary}/{name}"], return_hydra_config=True)
    assert config.hydra.mode.name == "MULTIRUN"
    for key, values in config.hydra.sweeper.params.items():
        for value in values.split(","):
            with initialize_config_dir(str(CONF), version_base="1.3"):
                chosen = resolve(compose(primary, [f"{key}={value}"]))
            assert evaluate.CONFIGS[primary].command().plan(chosen)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_chooses_no_launcher(name: str):
    """Inside an experiment a launcher can be dropped silently."""
    assert "launcher" not in (CONF / "experiment" / "memtoc" / f"{name}.yaml").read_text()


@pytest.mark.parametrize("primary", PRIMARIES)
def test_no_key_has_the_name_of_a_folder_that_is_not_its_group(primary: str):
    """Such a key could not be overridden on the command line."""
    folders = {path.name for path in CONF.iterdir() if path.is_dir()} - {"hydra"}
    keys = set(loaded(CONF / f"{primary}.yaml")) - {"defaults", "hydra"}
    assert keys & folders <= defaults_of(primary)


def test_an_experiment_can_override_every_key_and_group(tmp_path: Path, entry: Entry):
    plain = loaded(CONF / "evaluate.yaml")
    folder = tmp_path / "more" / "experiment"
    folder.mkdir(parents=True)
    changed = {"limit": 7, "seed": 9, "dry_run": True, "ids": ["s10-1"], "shard": "1/2",
               "conditions": ["noop"]}  # fmt: skip
    nested = {"clauses": {"no_recall": False}, "report": {"min_support": 2}, "paths": {"runs": "x"},
              "scoring": {"surname": False}}  # fmt: skip
    assert set(changed) | set(nested) == set(plain) - {"defaults", "hydra", "task"}
    text = "# @package _global_\ndefaults:\n  - override /formulation: paraB\n"
    body = yaml.safe_dump({**changed, **nested})
    (folder / "all.yaml").write_text(text + body, encoding="utf-8")
    shown = entry("--config-dir", str(tmp_path / "more"), "--cfg", "job", "experiment=all")
    config = yaml.safe_load(shown.out)
    assert {key: config[key] for key in changed} == changed
    assert config["formulation"]["name"] == "paraB"
    assert config["clauses"]["no_recall"] is False
    assert config["scoring"]["surname"] is False
    assert (config["report"]["min_support"], config["paths"]["runs"]) == (2, "x")


@pytest.mark.parametrize("group", GROUPS)
def left_open(group: str, name: str) -> list[str]:
    """Values for what a file of a group leaves to the user."""
    content = loaded(CONF / group / f"{name}.yaml")
    missing = [key for key, value in content.items() if value == "???"]
    missing += ["path"] if group == "benchmark" and content.get("path", "") is None else []
    return [f"{group}.{key}=x" for key in missing]


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group in GROUPS for name in options(group)]
)
def test_every_option_makes_an_arm_and_carries_its_name(group: str, name: str):
    config = compose_config(f"{group}={name}", *left_open(group, name))
    assert config[group]["name"] == name
    try:
        planned = evaluate.CONFIGS["evaluate"].command().plan(config)
    except UserError as error:
        # A source that is to be built from first is refused with the command that builds.
        assert group == "benchmark" and "python build.py" in str(error)
        return
    assert not planned.dropped
    assert planned.config[group] is None or planned.config[group]["name"] == name


def test_run_folders_leave_nothing_of_hydras():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("evaluate", return_hydra_config=True)
    assert config.hydra.output_subdir is None
    assert config.hydra.run.dir == "."


NO_VALUE = (None, 3, "x", [], {"a": 1})


def nodes(container: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every key and item of a config."""
    if above:
        yield above
    parts = container.items() if isinstance(container, dict) else ()
    parts = enumerate(container) if isinstance(container, list) else parts
    for key, part in parts:
        yield from nodes(part, (*above, key))


@pytest.mark.parametrize(
    ("primary", "overrides"),
    [
        ("evaluate", ("engine=mock",)),
        ("evaluate", ("benchmark=released", "benchmark.path=x", "decoding=sampled")),
        ("taubench", ("planner=llm", "user=verify", "domain=airline", "agent=react")),
        ("calls", ("domain=airline", "taubench.path=x", "taubench.recording=x")),
        ("merge", ("shards=2",)),
    ],
)
def test_whatever_stands_in_the_place_of_a_value_is_taken_or_refused_in_one_line(
    primary: str, overrides: tuple[str, ...]
):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        whole = json.dumps(resolve(compose(primary, list(overrides))))
    refused = 0
    for path in nodes(json.loads(whole)):
        for value in NO_VALUE:
            config = json.loads(whole)
            *above, last = path
            reduce(operator.getitem, above, config)[last] = value
            try:
                evaluate.CONFIGS[primary].command().plan(config)
            except UserError as error:
                refused += 1
                assert "\n" not in str(error)
    assert refused > 100


def test_the_readme_names_every_folder_of_conf():
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("    conf/ ")[2]
    named = section.partition("\n    memtoc/")[0]
    folders = {path.name for path in CONF.iterdir() if path.is_dir()} - {"local"}
    assert {name for name in folders if f"{name}/" not in named} == set()
