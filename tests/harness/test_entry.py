"""The command line: what is wrong, in one line, with the nearest valid name; exit codes."""

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.arms import command, command_environment, command_line, obey_file_modes
from support.entries import Entry

from harness.engines.mock import MockEngine

QUIET = ("engine=mock", "tracker=none", "limit=2")


def line(text: str) -> str:
    """The one line that a user sees; tracebacks and progress would make it more."""
    lines = [item for item in text.splitlines() if item]
    assert len(lines) == 1, text
    return lines[0]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("limt=3", "limt: no such setting: did you mean 'limit'?"),
        ("report.matchr=boundary", "report.matchr: no such setting: did you mean 'report.matcher'"),
        ("formulation=refs", "formulation=refs: no such option: did you mean 'ref'?"),
        ("modl=qwen", "modl: no such setting: did you mean 'model'?"),
        ("benchmark=csv", "benchmark.path has no value: set it, as in benchmark.path=..."),
        ("limit=many", "limit='many' does not fit: input should be a valid integer"),
        ("limit=0", "limit=0: give at least 1"),
        ("limit=None", "limit='None' does not fit: input should be a valid integer, or null for"),
        ("seed=1.5", "seed=1.5 does not fit"),
        ("conditions=tool_right", "write 'conditions=[tool_right]'"),
        ("conditions=[tool_rihgt]", "unknown condition 'tool_rihgt': did you mean 'tool_right'?"),
        ("conditions=[]", "conditions is empty"),
        ("ids=s10-1", "ids=s10-1 is not a list: write 'ids=[s10-1]'"),
        ("ids=[s10-99]", "has no question 's10-99'"),
        ("limit=2,3", "add -m to sweep, or write a list as 'key=[a,b]'"),
        ("conditions=[tool_right", "lists are written 'key=[a,b]'"),
        ("shard=5/4", "shard=5/4: write the part and the number of parts, as in shard=1/4"),
        ("shard=0.25", "shard=0.25: write the part"),
        ("experiment=memtoc/frame", "experiment=memtoc/frame: no such option: did you mean"),
        ("+limt=5", "limt is not a setting: did you mean 'limit'? Remove it where +limt"),
        ("++report.matchr=x", "did you mean 'report.matcher'?"),
        ("model@=qwen", "a place is missing behind the @: write model=..."),
        ("hydra/nothing=x", "Hydra has no such group: a launcher is chosen by hydra/launcher=NAME"),
        ("debug=true", "debug=true: no such option: choose one of: limit, none"),
        ("debug.x=1", "write debug=OPTION: choose one of: limit, none"),
        ("hydra.run.dir=here", "folders are set by paths.runs"),
        ("hydra/sweeper=basic", "this project's own sweeper"),
        ("mitigation.name=warn", "mitigation.name=warn chooses no option: write mitigation=warn"),
        ("engine.kind=hf", "write engine=hf"),
        ("benchmark.source=csv", "write benchmark=csv"),
        ("limit =3", "'limit =3': write limit=3, without spaces"),
    ],
)
def test_a_mistake_is_one_line_with_the_fix_and_exit_code_2(
    entry: Entry, override: str, words: str
):
    ended = entry(*QUIET, override)
    assert ended.code == 2
    assert words in line(ended.err)
    assert line(ended.err).startswith("error: ")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["planner=llm", "planner.modl=x"], "planner.modl: no such setting: did you mean"),
        (["planner.modl=x"], "did you mean 'planner.model' of planner=llm?"),
        (["model@planner.model=qwen"], "did you mean 'model@planner.model' of planner=llm?"),
        (["planner=llm", "model@planner.modl=qwen"], "did you mean 'model@planner.model'?"),
        (["planner=llm", "planner.model.nam=x"], "did you mean 'planner.model.name'?"),
        (["planner=llm", "planner.modl.name=x"], "did you mean 'planner.model'?"),
        (["planner.zzz=1"], "choose one of: planner.kind, planner.name"),
        (["usr=llm"], "usr: no such setting: did you mean 'user'?"),
        (["-m", "planner=llm,scripted", "planner.modl=x,y"], "did you mean 'planner.model'?"),
    ],
)  # fmt: skip
def test_a_wrong_key_of_a_role_gets_the_nearest_one_of_the_config_that_was_asked_for(
    entry: Entry, overrides: list[str], words: str
):
    for name in (["--config-name=taubench"], ["--config-name", "taubench"]):
        ended = entry(*name, *overrides)
        assert ended.code == 2
        assert words in line(ended.err)


def test_an_unknown_config_name_gets_the_nearest_one(entry: Entry):
    ended = entry("--config-name=merg")
    assert ended.code == 2
    assert "--config-name=merg: no such config here: did you mean 'merge'?" in line(ended.err)


def test_a_rule_between_groups_is_refused_in_one_line(entry: Entry):
    ended = entry(*QUIET, "frame=passage", "conditions=[tool_error]")
    assert ended.code == 2
    assert "frame 'passage' can show none of the conditions" in line(ended.err)
    ended = entry(*QUIET, "mitigation=warn", "conditions=[no_tool]")
    assert "mitigation 'warn' stands in no prompt" in line(ended.err)
    ended = entry(*QUIET, "model=llama_base", "model.thinking=true")
    assert "model 'llama_base' is a base checkpoint" in line(ended.err)


def test_a_run_that_fails_ends_with_1_and_names_the_first_reason(entry: Entry):
    ended = entry(*QUIET, "engine.rules=[{contains: FINAL, error: server is down}]")
    assert ended.code == 1
    assert "failed: 2 of 2 rows failed (first: server is down)" in ended.err


def test_what_nobody_foresaw_leaves_its_traceback_and_ends_with_1(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
):
    def broken(self, request):
        raise ZeroDivisionError("by surprise")

    monkeypatch.setattr(MockEngine, "_reply", broken)
    ended = entry(*QUIET)
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert "failed: ZeroDivisionError: by surprise" in ended.err


def test_an_interrupt_ends_with_130_and_the_same_command_goes_on(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(self, request):
        if "A tool has already" in request.messages[0].content:
            raise KeyboardInterrupt
        return reply(self, request)

    reply = MockEngine._reply
    monkeypatch.setattr(MockEngine, "_reply", interrupted)
    ended = entry(*QUIET)
    assert ended.code == 130
    assert "interrupted: run the same command again to go on" in ended.err
    assert len(list(Path("memories").glob("*/DONE"))) == 1
    assert not list(Path("runs").glob("*/DONE"))
    monkeypatch.setattr(MockEngine, "_reply", reply)
    assert entry(*QUIET).code == 0
    assert len(list(Path("runs").glob("*/DONE"))) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_each_signal_has_its_exit_code_and_the_same_command_goes_on(
    entry: Entry, monkeypatch: pytest.MonkeyPatch, number: int, code: int
):
    def ended_by_signal(self, request):
        if "A tool has already" in request.messages[0].content:
            os.kill(os.getpid(), number)
        return reply(self, request)

    # A shell's background job, as a suite may be, ignores SIGINT, and so does what it starts.
    signal.signal(number, signal.SIG_DFL)
    reply = MockEngine._reply
    monkeypatch.setattr(MockEngine, "_reply", ended_by_signal)
    ended = entry(*QUIET)
    assert ended.code == code
    assert "interrupted: run the same command again to go on" in ended.err
    assert len(list(Path("memories").glob("*/DONE"))) == 1
    monkeypatch.setattr(MockEngine, "_reply", reply)
    assert entry(*QUIET).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["paths=null"], "paths"),
        (["paths.cache=null"], "paths.cache"),
        (["clauses=null"], "clauses has no value"),
        (["layout=null"], "write group=option"),
        (["~task"], "task is set by the config"),
        (["decoding=sampled", "decoding.temperature=inf"], "decoding.temperature=inf"),
        (["report.max_error_rate=nan"], "report.max_error_rate=nan"),
        (["engine=hf", "engine.device=tpu"], "engine.device"),
        (["--resolve"], "--resolve"),
        (["-m", "clauses=null,{no_recall: true}"], "clauses"),
        (["-m", "paths.runs=file/runs", "limit=1,2"], "file/runs"),
        (["--config-name=merge", "shards=3000000"], "from 2 to 9999"),
        (["--config-name=taubench", "limits.seconds=nan"], "limits.seconds=nan"),
        (["--config-name=taubench", "limits.seconds=-1"], "limits.seconds=-1"),
        (["--config-name=taubench", "tool_agent.price.prompt=-1"], "tool_agent.price.prompt=-1"),
        (["--config-name=taubench", "pool.retries=-1"], "pool.retries=-1"),
        (["--config-name=taubench", "report.max_error_rate=2"], "report.max_error_rate=2"),
        (["--config-name=calls", "trials=-2"], "trials=-2"),
        (["--config-name=calls", "tool_agent.request=nothing"], "{request}"),
        (["--config-name=taubench", "agent=native", "agent.suffix=nothing"], "{tools}"),
    ],
)
def test_a_value_that_cannot_be_is_one_line_and_starts_nothing(
    entry: Entry, arguments: list[str], words: str
):
    Path("file").write_text("")
    ended = entry(*arguments)
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_nothing_is_a_mistake_to_mend(number: int):
    import os

    from harness.entry import guarded

    def work() -> None:
        raise OSError(number, os.strerror(number), "/data/runs")

    code, words = guarded(work, "evaluate")
    assert code == 2
    assert words.startswith("/data/runs: ")


def test_a_runs_folder_that_cannot_be_written_is_named(tmp_path: Path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    for tracker in ("none", "wandb"):
        ended = command(
            "engine=mock", "limit=2", f"tracker={tracker}", f"paths.runs={locked}",
            cwd=tmp_path, preexec_fn=obey_file_modes,
        )  # fmt: skip
        assert ended.returncode == 2
        (words,) = [item for item in ended.stderr.splitlines() if item.startswith("error: ")]
        assert str(locked) in words
        assert "check paths.*" in words


def test_help_loads_no_heavy_library(tmp_path: Path):
    import subprocess
    import sys

    from support.arms import ROOT, command_environment

    program = (
        "import atexit, runpy, sys\n"
        "heavy = ('torch', 'transformers', 'wandb', 'pandas', 'scipy', 'numpy')\n"
        "atexit.register(lambda: print('LOADED', [n for n in heavy if n in sys.modules]))\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "sys.argv = ['evaluate.py', '--help']\n"
        f"runpy.run_path({str(ROOT / 'evaluate.py')!r}, run_name='__main__')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=command_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "LOADED []" in ended.stdout


def test_a_setting_of_this_machine_applies_unless_the_command_says_otherwise(
    entry: Entry, tmp_path: Path
):
    """conf/local/default.yaml stands in a further folder of the search path here."""
    local = tmp_path / "more" / "local"
    local.mkdir(parents=True)
    (local / "default.yaml").write_text("# @package _global_\nseed: 17\n", encoding="utf-8")
    arguments = ("--config-dir", str(tmp_path / "more"), "--cfg", "job")
    assert "\nseed: 17\n" in entry(*arguments).out
    assert "\nseed: 3\n" in entry(*arguments, "seed=3").out


@pytest.mark.parametrize("closed", [1, 2])
def test_a_run_whose_output_is_closed_finishes(tmp_path: Path, closed: int):
    process = subprocess.run(
        command_line(*QUIET), cwd=tmp_path, env=command_environment(), check=False,
        preexec_fn=lambda: os.close(closed),
    )  # fmt: skip
    assert process.returncode == 0
    assert len(list(tmp_path.glob("runs/*/DONE"))) == 1
