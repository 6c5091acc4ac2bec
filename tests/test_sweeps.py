"""Sweeps on the mock engine: the real command line, the real sweeper, folders in tmp_path."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.entries import ROOT, Entry, arm_folders

from harness.engines.mock import MockEngine
from harness.errors import UserError
from harness.outcomes import Outcome, Plan
from harness.sweeps import check_presets, plan_sweep

MOCK = ("engine=mock", "limit=3", "tracker=none")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each engine that is opened."""
    names: list[str] = []
    begin = MockEngine.__init__

    def counted(self, spec):
        names.append(spec.name)
        begin(self, spec)

    monkeypatch.setattr(MockEngine, "__init__", counted)
    return names


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def test_six_arms_need_one_model_load_and_a_second_time_none(entry: Entry, opened: list[str]):
    sweep = ("-m", "formulation=ref,paraA,paraB", "frame=tool,passage", *MOCK)
    first = entry(*sweep)
    assert first.code == 0
    assert "6 arms: 6 done; model loads: 1" in first.out
    assert len(arm_folders(Path("runs"))) == 6
    assert opened == ["mock"]
    texts = {path: path.read_bytes() for path in Path("runs").glob("*/*")}
    second = entry(*sweep)
    assert "6 arms: 6 already done; model loads: 0" in second.out
    assert opened == ["mock"]
    assert {path: path.read_bytes() for path in Path("runs").glob("*/*")} == texts


def test_the_arms_of_one_model_run_next_to_each_other_and_share_its_load(
    entry: Entry, opened: list[str]
):
    ended = entry("-m", "formulation=ref,paraA", "model=smollm2,qwen", "frame=tool", *MOCK)
    assert "4 arms: 4 done; model loads: 2" in ended.out
    assert opened == ["mock", "mock"]
    order = [line for line in ended.out.splitlines() if "arm " in line and " of 4" in line]
    assert ["smollm2" in line for line in order] == [True, True, False, False]


def test_a_sweep_writes_nothing_but_its_arms(entry: Entry, tmp_path: Path):
    entry("-m", "formulation=ref,paraA", *MOCK)
    kinds = {path.name for path in tmp_path.iterdir()}
    assert kinds == {"runs", "memories", ".cache"}
    assert all(path.name.startswith(("mock-", ".hydra")) for path in Path("runs").iterdir())
    assert not any(path.is_file() for path in Path("runs/.hydra").rglob("*"))


def test_settings_that_make_no_difference_are_run_once_with_a_count(entry: Entry):
    ended = entry("-m", "payload=unavailable,timeout", "conditions=[tool_right]", *MOCK)
    assert "1 of the jobs repeat another: run once" in ended.out
    assert "1 arm: 1 done" in ended.out


def test_a_spelling_of_the_same_conditions_is_the_same_arm(entry: Entry):
    ended = entry("-m", "conditions=[tool_right,noop],[noop,no_conflict]", *MOCK)
    assert "1 arm: 1 done" in ended.out


def test_an_arm_that_a_rule_leaves_out_is_counted_and_the_others_run(entry: Entry):
    ended = entry("-m", "frame=tool,passage", "conditions=[tool_error]", *MOCK)
    assert ended.code == 0
    assert "1 of the jobs left out: frame 'passage' can show none of the conditions" in ended.out
    assert "1 arm: 1 done" in ended.out


def test_a_sweep_in_which_no_arm_is_left_says_why(entry: Entry):
    ended = entry("-m", "frame=passage,passage_json", "conditions=[tool_error]", *MOCK)
    assert ended.code == 0
    assert "0 arms: none" in ended.out
    assert not arm_folders(Path("runs"))


@pytest.mark.parametrize(
    "nothing",
    ["formulation=glob(parra*)", "seed=range(0,0)", "model=glob(*,exclude=*)"],
)
def test_a_sweep_over_nothing_is_a_mistake(entry: Entry, nothing: str):
    ended = entry("-m", *MOCK, "frame=tool,passage", nothing)
    assert ended.code == 2
    assert f"error: the sweep has no job: {nothing} gives no value" in ended.err
    assert not Path("runs").exists()


def test_a_wrong_option_in_one_of_many_jobs_starts_nothing(entry: Entry):
    ended = entry("-m", "formulation=ref,paraA,paraC", "frame=tool,passage", *MOCK)
    assert ended.code == 2
    assert "formulation=paraC: no such option: did you mean 'para" in ended.err
    assert "nothing was started" in ended.err
    assert not Path("runs").exists()


def test_a_wrong_value_in_one_of_many_jobs_starts_nothing(entry: Entry):
    ended = entry("-m", "limit=2,3,none", "engine=mock", "tracker=none")
    assert ended.code == 2
    assert "limit='none' does not fit" in ended.err
    assert "job 3 of 3 (limit=none)" in ended.err
    assert not Path("runs").exists()


def test_a_failed_job_is_reported_with_its_command_and_the_others_run(entry: Entry):
    rule = "engine.rules=[{contains: 'a passage was looked up', error: down}]"
    ended = entry("-m", "formulation=paraA", "frame=tool,passage,passage_json", rule, *MOCK)
    assert ended.code == 1
    assert "3 arms: 1 done, 2 failed" in ended.out
    commands = [line for line in ended.out.splitlines() if "python evaluate.py" in line]
    assert len(commands) == 2
    assert "frame=passage" in commands[0]
    assert "'engine.rules=" in commands[0]
    (finished,) = arm_folders(Path("runs"))
    assert "tool" in finished.name


def test_the_command_of_a_failed_job_repeats_that_job_alone(entry: Entry):
    import shlex

    rule = "engine.rules=[{contains: 'A passage has already', error: down}]"
    ended = entry("-m", "frame=tool,passage", rule, *MOCK)
    (line,) = [line for line in ended.out.splitlines() if "python evaluate.py" in line]
    again = entry(*shlex.split(line)[2:])
    assert again.code == 1
    assert "mend the cause" in again.err


def test_the_command_of_a_failed_job_keeps_the_folder_of_its_options(entry: Entry, tmp_path: Path):
    import shlex

    wording = (ROOT / "conf/formulation/ref.yaml").read_text(encoding="utf-8")
    options = tmp_path / "my options" / "formulation"
    options.mkdir(parents=True)
    (options / "mine.yaml").write_text(wording.replace("name: ref", "name: mine"), encoding="utf-8")
    rule = "engine.rules=[{contains: FINAL, error: down}]"
    ended = entry("-m", f"--config-dir={options.parent}", "formulation=mine,ref", rule, *MOCK)
    line = next(line for line in ended.out.splitlines() if "formulation=mine" in line[:200])
    commands = [line for line in ended.out.splitlines() if "python evaluate.py" in line]
    assert line and len(commands) == 2
    again = entry(*shlex.split(commands[0])[2:])
    assert again.code == 1
    assert "mend the cause" in again.err


def test_what_looks_like_markup_is_shown_as_it_is(entry: Entry):
    ended = entry("-m", "conditions=[tool_right],[tool_wrong]", *MOCK)
    assert ended.code == 0
    assert ended.out.count("conditions=[tool_right]") == 2
    assert ended.out.count("conditions=[tool_wrong]") == 2
    ended = entry("-m", 'formulation.answer_line="x [/b] :smile:","y"', *MOCK)
    assert ended.code == 0, ended.err
    assert "[/b] :smile:" in ended.out


def test_a_job_out_of_memory_fails_and_the_sweep_goes_on(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
):
    def hungry(self, request):
        prompt = "\n".join(message.content for message in request.messages)
        if "For the question below, a tool call" in prompt:
            raise MemoryError("cannot allocate memory")
        return reply(self, request)

    reply = MockEngine._reply
    monkeypatch.setattr(MockEngine, "_reply", hungry)
    ended = entry("-m", "formulation=paraA,ref", *MOCK)
    assert ended.code == 1
    assert "2 arms: 1 failed, 1 done" in ended.out
    assert "failed: MemoryError: cannot allocate memory" in ended.out
    monkeypatch.setattr(MockEngine, "_reply", reply)
    assert "2 arms: 1 done, 1 already done" in entry("-m", "formulation=paraA,ref", *MOCK).out


def test_an_interrupt_keeps_what_is_done_and_the_same_sweep_goes_on(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(self, request):
        if "Here is a factual question, along with" in request.messages[0].content:
            raise KeyboardInterrupt
        return reply(self, request)

    reply = MockEngine._reply
    monkeypatch.setattr(MockEngine, "_reply", interrupted)
    sweep = ("-m", "formulation=ref,paraB,paraA", *MOCK)
    ended = entry(*sweep)
    assert ended.code == 130
    assert "interrupted: run the same command again to go on" in ended.err
    assert "3 arms: 1 done, 2 not finished" in ended.out
    assert len(arm_folders(Path("runs"))) == 1
    monkeypatch.setattr(MockEngine, "_reply", reply)
    assert "3 arms: 1 already done, 2 done" in entry(*sweep).out


@pytest.mark.parametrize(
    "override",
    ["experiment=memtoc/frames,memtoc/clauses", "experiment=glob(memtoc/*)", "+experiment=a,b"],
)
def test_two_experiments_are_no_sweep(override: str):
    with pytest.raises(UserError, match="two cannot be swept over"):
        check_presets(["limit=2", override])


def test_two_experiments_are_refused_on_the_command_line(entry: Entry):
    ended = entry("-m", "experiment=memtoc/frames,memtoc/clauses", *MOCK)
    assert ended.code == 2
    assert "run one command for each" in ended.err
    ended = entry("experiment=memtoc/frames", "experiment=memtoc/clauses", *MOCK)
    assert ended.code == 2
    assert "run one command for each" in ended.err


def test_a_sweep_has_the_same_name_whatever_the_order_and_the_tracker():
    def name(*models: str) -> str:
        def planned(overrides: Sequence[str]) -> Plan:
            return Plan({"model": overrides[0], "tracker": str(models)}, overrides[0])

        return plan_sweep([[model] for model in models], planned).name

    assert name("a", "b") == name("b", "a")
    assert name("a", "b") != name("a", "c")


def test_an_outcome_of_a_broken_process_is_a_failure():
    from harness.sweeps import plain

    assert plain(Outcome("done")).code == 0
    assert plain(RuntimeError("worker died\nand more")).error == "RuntimeError: worker died"
