"""Recorded dialogues: replayed through the loop, as a test set of calls, regraded, shown."""

import json
from pathlib import Path

import pytest
from support.arms import command_line, finished
from support.playing import arm_of, compose_taubench, evaluate, metrics_of

from factored.calls.data_set import recorded_calls, stratified
from factored.calls.run import plan as plan_calls
from factored.calls.run import run as run_calls
from factored.scripts import recorded_scripts
from factored.taubench.__main__ import main
from harness.errors import UserError

AIRLINE = ("domain=airline", "domain.province=true")


def recording(data: Path, name: str) -> Path:
    path = data / "trajectories" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"the recorded dialogues {name} are not here")
    return path


def sources(data: Path, name: str) -> list[str]:
    return [f"taubench.path={data}", f"taubench.recording={recording(data, name)}"]


def test_gpt_4o_s_airline_dialogues_go_through_the_loop_unchanged(data, outside):
    result = evaluate(
        arm_of(
            compose_taubench(
                *AIRLINE, "planner=recorded", "user=recorded", "tool_agent=oracle", "trials=4",
                *sources(data, "gpt-4o-airline"), *outside,
            )
        )
    )  # fmt: skip
    figures = metrics_of(result)
    assert figures["turns"]["calls"] == 1164
    assert figures["intended"]["reads"] == {"exact": 914, "total": 914}
    assert figures["intended"]["writes"] == {"exact": 250, "total": 250}
    assert figures["recorded"] == {
        "episodes": 200, "equal_hashes": 200, "equal_rewards": 200, "recorded_successes": 84,
        "no_call_successes": 78, "successes": 84, "writing": 27, "writing_kept": 27,
    }  # fmt: skip
    assert [round(row["value"], 3) for row in figures["pass"]] == [0.42, 0.273, 0.22, 0.2]
    results = str(result.folder / "results.json")
    options = ["--domain", "airline", "--data", str(data), "--province-rename", "--json"]
    assert main(["replay", results, *options]) == 0


def test_the_retail_dialogues_go_through_the_loop_unchanged(data, outside):
    overrides = ("planner=recorded", "user=recorded", "tool_agent=oracle", "agent=factored")
    arm = arm_of(
        compose_taubench(
            "domain=retail", *overrides, *sources(data, "tool-calling-retail"), *outside
        )
    )
    assert (len(arm.tasks), arm.skipped) == (100, 15)
    found = metrics_of(evaluate(arm))
    assert found["recorded"]["equal_hashes"] == found["recorded"]["equal_rewards"] == 100
    assert sum(found["intended"][kind]["exact"] for kind in ("reads", "writes")) == 793


def calls(data: Path, outside: list[str], *overrides: str) -> dict:
    config = compose_taubench(
        *AIRLINE, *sources(data, "gpt-4o-airline"), *outside, *overrides, name="calls"
    )
    outcome = run_calls(plan_calls(config))
    return json.loads((Path(outcome.folder) / "metrics.json").read_text())


def test_the_oracle_writes_every_recorded_call_exactly(data, outside):
    found = calls(data, outside, "tool_agent=oracle")
    assert found["groups"]["all"] == dict.fromkeys(
        ("total", "json", "right_tool", "valid", "exact"), 1164
    )
    assert found["final"] == {"dialogues": 27, "hashes": 27, "rewards": 27, "no_call": 0}


def test_a_tool_agent_that_writes_nothing_keeps_no_reward_that_needs_a_write(data, outside):
    config = ("engine@tool_agent.engine=mock", "sample=200", "tool_agent.context=conversation")
    found = calls(data, outside, *config)
    assert found["groups"]["all"]["total"] == 200
    assert found["errors"]["malformed"] == 200
    assert found["final"] == {"dialogues": 27, "hashes": 0, "rewards": 0, "no_call": 0}
    assert found["shortened"] > 0


def test_the_sample_is_fixed_holds_the_writes_and_every_tool_has_its_share(data):
    scripts = recorded_scripts(recording(data, "gpt-4o-airline"), 4)
    every = recorded_calls(scripts)
    always = list(scripts)[:10]
    writes = frozenset({"book_reservation"})
    drawn = [stratified(order, always, writes, 200, seed=3) for order in (every, every[::-1])]
    assert len(drawn[0]) == 200
    assert {call.place for call in drawn[0]} == {call.place for call in drawn[1]}
    kept = {c.place for c in every if c.place[:2] in always and c.action.name in writes}
    assert kept <= {call.place for call in drawn[0]}
    reads = sum(call.action.name == "get_reservation_details" for call in drawn[0])
    assert abs(reads - 200 * 377 / 1164) < 8


def test_regrading_gives_the_recorded_rewards(data, capsys):
    file = str(recording(data, "gpt-4o-airline"))
    assert main(["regrade", file, "--domain", "airline", "--data", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "dialogues": 200, "successes_before": 84, "successes": 84, "changed": 0,
    }  # fmt: skip


def test_regrading_refuses_tasks_of_another_domain(data, capsys):
    arguments = ["--domain", "retail", "--data", str(data)]
    assert main(["regrade", str(data / "trajectories" / "gpt-4o-airline.json"), *arguments]) == 2
    assert "it is about 'mia_li_3668', retail test has" in capsys.readouterr().err


def test_calls_of_another_domain_are_refused(data, outside):
    recording = f"taubench.recording={data / 'trajectories' / 'gpt-4o-airline.json'}"
    line = command_line("--config-name=calls", "tool_agent=oracle", recording, "tracker=none")
    ended = finished([*line, *outside])
    assert ended.returncode == 2
    assert "is about 'mia_li_3668'" in ended.stderr


def test_regrading_finds_a_reward_that_was_tampered_with(data, tmp_path, capsys):
    records = json.loads(recording(data, "gpt-4o-airline").read_text())[:3]
    before = records[1]["reward"]
    records[1]["reward"] = 1.0 - before
    (tmp_path / "r.json").write_text(json.dumps(records))
    options = ["--domain", "airline", "--data", str(data), "--out", str(tmp_path / "new.json")]
    assert main(["regrade", str(tmp_path / "r.json"), *options]) == 0
    assert "1 rewards changed" in capsys.readouterr().out
    assert json.loads((tmp_path / "new.json").read_text())[1]["reward"] == before


def test_nothing_of_a_hostile_file_steers_the_terminal(tmp_path, capsys, monkeypatch):
    """Control characters and markup in every field that is shown."""
    monkeypatch.setenv("COLUMNS", "1000")
    evil = "\x1b[2J\x9b31m\u202e\x07[bold red]x[/]\udc80"
    turn = {"text": evil, "request": evil, "call": evil, "observation": evil, "source": evil}
    action = {"name": evil, "kwargs": {evil: evil}}
    said = {"name": "respond", "kwargs": {"content": evil}}
    call = {"function": {"name": evil, "arguments": {evil: evil}}}
    whole = {"task_id": evil, "trial": evil, "reward": evil, "ended": evil, "error": evil}
    traj = [
        {"role": "user", "content": evil}, {"role": evil, "content": [{"text": evil}]},
        {"role": "tool", "name": evil, "content": evil},
        {"role": "assistant", "tool_calls": [call]},
    ]  # fmt: skip
    turns = [
        {**turn, "action": None, "punt": {"error": evil, "reason": evil}},
        {**turn, "action": action, "punt": None}, {**turn, "action": said, "punt": None},
    ]  # fmt: skip
    path = tmp_path / "r.json"
    path.write_text(json.dumps([{**whole, "traj": traj}, {**whole, "traj": traj, "turns": turns}]))
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert [char for char in shown if not char.isprintable() and char != "\n"] == []
    assert shown.replace("\n", "").count("[bold red]x[/]") >= 20
    assert "PUNT" in shown


@pytest.mark.parametrize("name", ["gpt-4o-airline", "tool-calling-retail"])
def test_every_recorded_dialogue_can_be_shown(data, capsys, name):
    file = recording(data, name)
    assert main(["show", str(file)]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if ": reward " in line]
    assert len(titles) == len(json.loads(file.read_text()))


def test_a_dialogue_is_shown_and_cannot_steer_the_terminal(tmp_path, capsys):
    record = {
        "task_id": 3, "trial": 0, "reward": 0.0,
        "traj": [{"role": "user", "content": "Hi \x1b[2J[bold]you[/bold]"},
                 {"role": "assistant", "content": "Hello."}],
    }  # fmt: skip
    path = tmp_path / "r.json"
    path.write_text(json.dumps([record]))
    assert main(["show", str(path), "--task", "3"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[bold]you[/bold]" in shown
    assert main(["show", str(path), "--task", "4"]) == 2
    path.write_text('[{"task_id": 1}]')
    assert main(["show", str(path)]) == 2


def test_a_recording_of_another_split_is_refused_by_its_users(outside):
    scripted = ("tool_agent=oracle", "domain.tasks=[0,1]", *outside)
    path = evaluate(arm_of(compose_taubench(*scripted))).folder / "results.json"
    replayed = compose_taubench(
        *scripted, "planner=recorded", "user=recorded", f"taubench.recording={path}"
    )
    assert metrics_of(evaluate(arm_of(replayed)))["recorded"]["equal_hashes"] == 2
    rows = json.loads(path.read_text())
    rows[1]["info"]["task"]["user_id"] = "M-999"
    path.write_text(json.dumps(rows))
    with pytest.raises(UserError, match="its task 1 is about 'M-999'"):
        arm_of(replayed)
