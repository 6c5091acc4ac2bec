"""A TauBench arm: resume, infrastructure trouble, roles on engines, files."""

import json
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.arms import command, command_environment, command_line, read_jsonl
from support.playing import TauBenchResult, arm_of, compose_taubench, evaluate, metrics_of

import factored.pool
from factored.evaluation import plan
from factored.settings import TauBenchSettings
from harness import fingerprint
from harness.errors import RunFailedError, UserError

ORACLE = ("tool_agent=oracle",)
QUICK = ("pool.retries=1", "pool.pause_s=0.0")
MOCKED = [f"engine@{role}.engine=mock" for role in ("planner", "tool_agent", "user")]
REPLY = "natural_language_tool_call Call the tool list_bikes."


def run(outside: list[str], *overrides: str) -> TauBenchResult:
    return evaluate(arm_of(compose_taubench(*ORACLE, *overrides, *outside)))


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        for counts in row["usage"].values():
            counts.pop("seconds")
    return rows


def test_the_scripted_run_with_the_oracle_solves_every_task(outside):
    result = run(outside, "trials=2")
    assert [row["value"] for row in metrics_of(result)["pass"]] == [1.0, 1.0]
    assert metrics_of(result)["turns"]["punts"] == 0
    for counts in metrics_of(result)["intended"].values():
        assert counts["exact"] == counts["total"] > 0
    rows = json.loads((result.folder / "results.json").read_text())
    assert len(rows) == 28
    assert {"task_id", "reward", "info", "traj", "trial"} <= rows[0].keys()
    assert {"task", "source", "user_cost", "reward_info"} <= rows[0]["info"].keys()


@pytest.mark.parametrize("agent", ["faep", "native", "react", "act"])
def test_every_agent_kind_solves_the_scripted_tasks_alike(outside, agent):
    result = run(outside, f"agent={agent}")
    assert metrics_of(result)["pass"][0]["value"] == 1.0
    arm = arm_of(compose_taubench(*ORACLE, f"agent={agent}"))
    assert arm.settings.tool_agent is None, "only the factored agent has one"
    assert plan(compose_taubench(*ORACLE, f"agent={agent}")).notes


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("planner.name=", "planner.name='' does not fit: a name is"),
        ("user.name=a/b", "user.name='a/b' does not fit: a name is"),
        ("tool_agent.name=", "tool_agent.name='' does not fit: a name is"),
        ("tool_agent.instruction=Write a call.", "the text has no {tools}"),
        ("tool_agent.instruction_without_schemas=", "does not fit: it is empty"),
        ("tool_agent.model.name=", "tool_agent.model.name='' does not fit: a name is"),
    ],
)
def test_a_role_has_a_name_and_a_prompt_that_shows_the_tools(override, words):
    with pytest.raises(UserError) as refused:
        plan(compose_taubench(override))
    assert words in str(refused.value)


def test_a_finished_arm_is_not_run_again(outside, monkeypatch):
    first = run(outside)
    monkeypatch.setattr(factored.pool, "play", None)
    again = run(outside)
    assert (first.fresh, again.fresh) == (True, False)
    assert again.metrics == first.metrics


def test_an_interrupted_arm_goes_on_where_it_stopped(outside, monkeypatch):
    played: list[tuple[int, int, int]] = []
    play = factored.pool.play

    def stops(stage, key):
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append(key)
        return play(stage, key)

    monkeypatch.setattr(factored.pool, "play", stops)
    with pytest.raises(KeyboardInterrupt):
        run(outside)
    (folder,) = Path(outside[0].partition("=")[2]).iterdir()
    assert len(read_jsonl(folder / "generations.jsonl")) == 5
    assert not (folder / "DONE").exists()
    monkeypatch.setattr(factored.pool, "play", lambda s, k: (played.append(k), play(s, k))[1])
    whole = run(outside)
    assert len(played) == len(set(played)) == 14
    assert metrics_of(whole)["pass"][0]["value"] == 1.0
    rows = read_jsonl(folder / "generations.jsonl")
    assert [row["task_id"] for row in rows] == list(range(14))


def test_a_torn_last_line_is_played_again(outside):
    folder = run(outside).folder
    text = (folder / "generations.jsonl").read_text()
    (folder / "DONE").unlink()
    (folder / "generations.jsonl").write_text(text[:-100])
    assert metrics_of(run(outside))["pass"][0]["value"] == 1.0


def test_many_workers_give_what_one_gives(outside, tmp_path):
    one = run(outside, "trials=2")
    other = [f"paths.runs={tmp_path / 'other'}", outside[1]]
    many = run(other, "trials=2", "pool.workers=8")
    assert one.folder.name == many.folder.name, "workers are no part of the identity"
    files = [without_times(read_jsonl(r.folder / "generations.jsonl")) for r in (one, many)]
    assert files[0] == files[1]


def test_infrastructure_trouble_is_retried_then_stored_and_never_a_failure(outside):
    config = compose_taubench(
        *ORACLE, *QUICK, "planner=llm", "engine@planner.engine=mock",
        "domain.tasks=[0,1,2]", "report.max_error_rate=0.5", *outside,
    )  # fmt: skip
    down = {"contains": "rent a city bike", "error": "503 busy"}
    config["planner"]["engine"] |= {"reply": "I cannot help.", "rules": [down]}
    result = evaluate(arm_of(config))
    rows = {row["task_id"]: row for row in read_jsonl(result.folder / "episodes.jsonl")}
    assert (rows[0]["ended"], rows[0]["reward"]) == ("infrastructure", None)
    assert rows[0]["error"] == "planner: 503 busy"
    assert rows[0]["usage"]["planner"]["retries"] == 1
    assert rows[1]["reward"] == 0.0
    assert metrics_of(result)["pass"][0] == {"k": 1, "tasks": 3, "value": None, "lacking": [0]}
    graded = json.loads((result.folder / "results.json").read_text())
    assert [row["task_id"] for row in graded] == [1, 2]


def test_too_much_trouble_fails_the_arm_and_the_next_run_tries_those_episodes_again(outside):
    config = compose_taubench(
        *ORACLE, *QUICK, "planner=llm", "engine@planner.engine=mock",
        "domain.tasks=[4,5]", *outside,
    )  # fmt: skip
    down = {"contains": "How much credit", "error": "down"}
    engine = {**config["planner"]["engine"], "reply": "35.5", "rules": [down]}
    config["planner"]["engine"] = engine
    with pytest.raises(RunFailedError, match="1 of 2 episodes have no result"):
        evaluate(arm_of(config))
    (folder,) = Path(outside[0].partition("=")[2]).iterdir()
    assert (folder / "FAILED").exists()
    with pytest.raises(RunFailedError):
        evaluate(arm_of(config))
    rows = read_jsonl(folder / "generations.jsonl")
    assert sorted(row["task_id"] for row in rows) == [4, 5]


def test_a_failing_user_simulator_is_stored_as_trouble(outside):
    config = compose_taubench(
        *ORACLE, *QUICK, "user=llm", "engine@user.engine=mock", "domain.tasks=[4]",
        "report.max_error_rate=1.0", *outside,
    )  # fmt: skip
    for reply, error in (("<think>###STOP###", "empty line"), ("", "empty line")):
        config["user"]["engine"] |= {"reply": reply}
        result = evaluate(arm_of(config))
        (row,) = read_jsonl(result.folder / "episodes.jsonl")
        assert row["ended"] == "infrastructure"
        assert error in row["error"]


def test_a_stop_inside_of_a_thought_ends_nothing(outside):
    config = compose_taubench(
        *ORACLE, "user=llm", "engine@user.engine=mock", "domain.tasks=[4]", *outside
    )
    config["user"]["engine"] |= {"reply": "<think>Maybe ###STOP###?</think>Hello."}
    result = evaluate(arm_of(config))
    (row,) = read_jsonl(result.folder / "generations.jsonl")
    assert row["ended"] == "script_over"
    assert row["traj"][1] == {"role": "user", "content": "Hello."}


def test_every_role_on_an_engine_of_its_own_with_its_tokens_and_costs(outside):
    config = compose_taubench(
        "planner=llm", "user=llm", *MOCKED, "domain.tasks=[4]", "limits.steps=4",
        "pool.workers=2", *outside,
    )  # fmt: skip
    config["planner"]["engine"] |= {"reply": REPLY}
    config["planner"]["price"] = {"prompt": 2.0, "completion": 8.0}
    config["tool_agent"]["engine"] |= {"reply": '{"name": "search", "arguments": {}}'}
    config["user"]["engine"] |= {"reply": "Hello?"}
    result = evaluate(arm_of(config))
    assert metrics_of(result)["turns"]["call_errors"]["unknown_tool"] == 4
    usage = metrics_of(result)["usage"]
    assert {role: counts["calls"] for role, counts in usage.items()} == {
        "planner": 4, "tool_agent": 4, "user": 1,
    }  # fmt: skip
    planner = usage["planner"]
    dollars = (2 * planner["prompt_tokens"] + 8 * planner["completion_tokens"]) / 1e6
    assert planner["cost"] == pytest.approx(dollars, abs=1e-6)
    assert dollars > 0


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("", "empty"),
        (f"{REPLY} {REPLY}", "several_calls"),
        (f"Of course! {REPLY}", "marker_with_text"),
        ('{"name": "get_member", "arguments": {}}', "no_marker"),
        (REPLY, "unknown_tool"),
        ("natural_language_tool_call Show me the member.", "malformed"),
        (f"<think>{REPLY}", "marker_with_text"),
    ],
)
def test_a_planner_that_always_errs_ends_at_the_limit_with_its_errors_counted(
    outside, reply, error
):
    config = compose_taubench(
        *ORACLE, "planner=llm", "engine@planner.engine=mock", "domain.tasks=[4]",
        "limits.steps=6", *outside,
    )  # fmt: skip
    config["planner"]["engine"] |= {"reply": reply}
    result = evaluate(arm_of(config))
    assert metrics_of(result)["ended"] == {"max_steps": 1}
    turns = metrics_of(result)["turns"]
    assert {**turns["call_errors"], **turns["planner_errors"]}[error] == 6


def test_a_thinking_planner_is_read_without_its_thoughts(outside):
    config = compose_taubench(
        *ORACLE, "planner=llm", "engine@planner.engine=mock", "planner.model.thinking=true",
        "domain.tasks=[4]", *outside,
    )  # fmt: skip
    config["planner"]["engine"] |= {"reply": f"<think>{REPLY}</think>Your credit is 35.5."}
    result = evaluate(arm_of(config))
    assert metrics_of(result)["pass"][0]["value"] == 1.0


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("trials=0", "trials=0"),
        ("pool.workers=0", "pool.workers=0"),
        ("limits.steps=0", "limits"),
        ("domain.tasks=[99]", "no task 99"),
        ("domain.split=train", "no split 'train'"),
        ("domain=airline", "TAUBENCH_PATH"),
        ("planner=recorded", "taubench.recording"),
        ("domain.exclude=[0,1,2,3,4,5,6,7,8,9,10,11,12,13]", "no task is left"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(override, words, monkeypatch):
    monkeypatch.delenv("TAUBENCH_PATH", raising=False)
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        arm_of(compose_taubench(*ORACLE, override))


def test_what_changes_a_result_changes_the_arm_and_nothing_else_does():
    base = arm_of(compose_taubench(*ORACLE)).run.fingerprint
    for same in ("pool.workers=3", "paths.runs=elsewhere", "report.show=false", "dry_run=true"):
        assert arm_of(compose_taubench(*ORACLE, same)).run.fingerprint == base
    for other in ("trials=2", "seed=1", "limits.steps=9", "domain.tasks=[1]", "agent=faep"):
        assert arm_of(compose_taubench(*ORACLE, other)).run.fingerprint != base


def test_where_a_role_s_model_runs_is_cosmetic_and_which_it_is_is_not():
    cosmetic = fingerprint.cosmetic_keys(TauBenchSettings)
    is_cosmetic = partial(fingerprint.is_cosmetic, cosmetic=cosmetic)
    assert is_cosmetic("planner.engine.device")
    assert is_cosmetic("tool_agent.model.path")
    assert is_cosmetic("taubench.recording")
    for key in ("planner.engine.dtype", "tool_agent.model.hub", "user.decoding.temperature"):
        assert not is_cosmetic(key)


@pytest.mark.slow
def test_every_role_on_a_real_model_shares_one_load_and_ends_somehow(outside, shallow):
    roles = ("planner", "tool_agent", "user")
    overrides = [f"{role}.decoding.max_new_tokens=12" for role in roles]
    overrides += [f"{role}.model.path={shallow}" for role in roles]
    overrides += ["planner=llm", "user=llm", "domain.tasks=[4,5]", "limits.steps=2", *outside]
    arm = arm_of(compose_taubench(*overrides))
    result = evaluate(arm)
    assert len({id(backend) for backend in arm.backends.values()}) == 1
    assert arm.backends["planner"].loads == 1
    assert sum(metrics_of(result)["ended"].values()) == 2
    assert not {"infrastructure", "timeout"} & metrics_of(result)["ended"].keys()
    assert metrics_of(result)["usage"]["planner"]["completion_tokens"] > 0


def test_the_command_survives_a_kill_and_two_at_a_time_share_the_work(outside, tmp_path):
    arguments = ("--config-name=taubench", *ORACLE, "tracker=none", "trials=20", *outside)
    process = subprocess.Popen(
        command_line(*arguments), cwd=tmp_path, env=command_environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    runs = tmp_path / "runs"
    for _ in range(2400):
        if any(path.stat().st_size for path in runs.glob("*/generations.jsonl")):
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    line, environment = command_line(*arguments), command_environment()
    both = [
        subprocess.Popen(
            line, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(2)
    ]
    texts = [process.communicate(timeout=120)[0].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], texts
    (folder,) = runs.iterdir()
    rows = read_jsonl(folder / "generations.jsonl")
    assert [(row["task_id"], row["trial"]) for row in rows] == [
        (task, trial) for trial in range(20) for task in range(14)
    ]


def test_the_command_prints_figures_and_a_dialogue_and_a_dry_run_its_prompts(outside, tmp_path):
    arguments = ("--config-name=taubench", *ORACLE, "tracker=none", *outside)
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("pass^k", "floor", "exact writes", "14 episodes ended", "Call the tool"):
        assert words in done.stdout
    dry = command(*arguments, "dry_run=true", "user=llm", "engine@user.engine=mock", cwd=tmp_path)
    assert dry.returncode == 0, dry.stderr
    assert "natural_language_tool_call" in dry.stdout
    assert "Amir Haddad" in dry.stdout


@pytest.mark.slow
def test_with_one_worker_no_text_depends_on_what_ran_before(tmp_path, shallow, monkeypatch):
    in_order = factored.pool.keys
    overrides = [f"{role}.model.path={shallow}" for role in ("tool_agent", "user")]
    overrides += ["user=llm", "user.decoding.max_new_tokens=16", "domain.tasks=[4,5]", "trials=2"]
    overrides += ["tool_agent.decoding.max_new_tokens=24", "pool.workers=1", "limits.steps=4"]
    found = []
    for direction in (1, -1):
        monkeypatch.setattr(factored.pool, "keys", lambda arm, d=direction: in_order(arm)[::d])
        home = tmp_path / str(direction)
        folders = [f"paths.runs={home / 'runs'}", f"paths.cache={home / 'cache'}"]
        result = evaluate(arm_of(compose_taubench(*overrides, *folders)))
        rows = without_times(read_jsonl(result.folder / "generations.jsonl"))
        found.append({(row["task_id"], row["trial"]): row for row in rows})
    assert found[0] == found[1]
    assert len({row["traj"][1]["content"] for row in found[0].values()}) > 2, "users are sampled"


MOCKS = ("planner=llm", "engine@planner.engine=mock", "engine@tool_agent.engine=mock")


@pytest.mark.parametrize(
    ("overrides", "slug"),
    [
        (("engine@tool_agent.engine=mock",), "bikes-factored-scripted-mock"),
        (MOCKS[:2], "bikes-factored-mock-smollm2"),
        ((*MOCKS, "user=llm"), "bikes-factored-mock-mock"),
        ((*MOCKS, "user=llm", "engine@user.engine=mock"), "bikes-factored-mock-mock-mock_user"),
        (("tool_agent=oracle",), "bikes-factored-scripted-oracle"),
    ],
)
def test_a_folder_says_which_roles_are_mocks(overrides, slug):
    assert arm_of(compose_taubench(*overrides)).run.slug == slug


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ((), "add planner=llm user=llm"),
        (("planner=llm",), "add user=llm"),
        (("user=llm",), "add planner=llm"),
    ],
)
def test_a_domain_without_scripts_says_which_roles_to_set(overrides, words, monkeypatch, tmp_path):
    monkeypatch.delenv("TAUBENCH_PATH", raising=False)
    with pytest.raises(UserError, match=f"comes without scripts: {words}$"):
        arm_of(compose_taubench("domain=retail", *overrides))
    with pytest.raises(UserError, match=r"give taubench\.path=DIR"):
        arm_of(compose_taubench("domain=retail", "planner=llm", "user=llm"))
