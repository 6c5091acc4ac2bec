"""Arms for tests: the real configuration, a benchmark of a few rows, an engine with a script."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from harness.completions import Request
from harness.settings import resolve
from memtoc.arm import Arm, prepare
from memtoc.episodes import episodes, memory_request
from memtoc.evaluation import evaluate
from memtoc.rules import plan

ROOT = Path(__file__).parents[2]
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


@cache
def _composed(overrides: tuple[str, ...]) -> str:
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return json.dumps(resolve(compose("evaluate", list(overrides))))


def compose_config(*overrides: str) -> dict[str, Any]:
    """The resolved config of ``python evaluate.py OVERRIDES``, fresh at each call."""
    config: dict[str, Any] = json.loads(_composed(overrides))
    return config


def options(group: str) -> list[str]:
    """The names of a group's files under conf/."""
    return sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml"))


def one_job(overrides: list[str]) -> list[str]:
    """A sweep's first combination, without a launcher."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_overrides(overrides)
    plain = [item for item in parsed if not item.key_or_group.startswith("hydra")]
    return [
        f"{item.get_key_element()}={next(item.sweep_string_iterator())}"
        if item.is_sweep_override()
        else str(item.input_line)
        for item in plain
    ]


def row(name: str, gold: str, near: str, far: str | None = None, **fields: Any) -> dict[str, Any]:
    """A valid benchmark row; ``fields`` replace its other values."""
    schema = {
        "name": "gazetteer",
        "description": "Looks a place up.",
        "parameters": {"type": "object", "properties": {"site": {"type": "string"}}},
    }
    return {
        "id": name,
        "question": f"In which town stands the monument numbered {name}?",
        "gold": gold,
        "near": near,
        "far": far,
        "kind": "place",
        "family": "free_form",
        "chain": name,
        "fold": "A",
        "tool": {"schema": schema, "arguments": {"site": name}, "source": "made for tests"},
        **fields,
    }


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in rows), encoding="utf-8")
    return path


def folders(root: Path) -> list[str]:
    """Overrides that keep everything a run writes under ``root``."""
    return [f"paths.{name}={root / name}" for name in ("runs", "memories", "cache")]


def mock_config(root: Path, questions: Path, *overrides: str) -> dict[str, Any]:
    """The config of an arm over a benchmark file, on the mock engine, written under ``root``."""
    return compose_config(
        "engine=mock",
        "tracker=none",
        "benchmark=folder",
        f"benchmark.path={questions}",
        *folders(root),
        *overrides,
    )


def arm_of(config: Mapping[str, Any]) -> Arm:
    planned = plan(dict(config))
    assert not planned.dropped
    return prepare(planned.settings, planned.config)


class ArmResult(NamedTuple):
    """A finished arm's folder, and the JSON of its metrics and manifest as they stand on disk."""

    folder: Path
    fresh: bool
    metrics: dict[str, Any]
    manifest: dict[str, Any]


def run(config: Mapping[str, Any]) -> ArmResult:
    done = evaluate(arm_of(config))
    folder = done.run.folder
    found = [json.loads((folder / f"{name}.json").read_text()) for name in ("metrics", "manifest")]
    return ArmResult(folder, done.fresh, *found)


def requests_of(config: Mapping[str, Any]) -> dict[tuple[str, str], Request]:
    """Every request of an arm by (question id, condition); the memory's is ``memory``."""
    arm = arm_of(config)
    found = {(q.id, "memory"): memory_request(arm.settings, q) for q in arm.questions}
    rows = episodes(arm.settings, arm.questions)
    return found | {(item.question.id, item.condition): item.request for item in rows}


def prompt(request: Request) -> str:
    assert len(request.messages) == 1
    return request.messages[0].content


def scripted(
    config: Mapping[str, Any], replies: Mapping[tuple[str, str], str | Exception]
) -> dict[str, Any]:
    """The config with a mock engine that gives each (question id, condition) its reply.

    An exception in place of a reply is a request that the engine could not serve.
    """
    asked = requests_of(config)
    rules = []
    for key, reply in replies.items():
        text = {"error": str(reply)} if isinstance(reply, Exception) else {"reply": reply}
        rules.append({"contains": prompt(asked[key]), **text})
    return {**config, "engine": {**config["engine"], "rules": rules}}


def command(
    *arguments: str, cwd: Path, timeout: float = 120, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """``python evaluate.py ARGUMENTS``, run in ``cwd``."""
    environment = command_environment()
    return finished(command_line(*arguments), cwd=cwd, timeout=timeout, env=environment, **options)


def finished(line: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """A program run to its end, whatever that is, with its output as text."""
    return subprocess.run(line, capture_output=True, text=True, check=False, **options)


def command_line(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "evaluate.py"), *arguments]


def command_environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}


def hear_ctrl_c() -> None:
    """For a child about to exec: one of a script's background job would ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def obey_file_modes() -> None:
    """For a child about to exec: even the superuser then needs write permission to write."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def results(folder: Path) -> dict[str, Any]:
    """What an arm or memory folder says, without what depends on when and where it was run."""
    found: dict[str, Any] = {path.name: read_jsonl(path) for path in sorted(folder.glob("*.jsonl"))}
    if (folder / "metrics.json").exists():
        found["metrics.json"] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return found


def rate(result: ArmResult, matcher: str, metric: str, definition: str) -> dict[str, Any]:
    """The one rate of a name and definition."""
    rates: Sequence[dict[str, Any]] = result.metrics["matchers"][matcher]["rates"]
    (found,) = [r for r in rates if (r["metric"], r["definition"]) == (metric, definition)]
    return found
