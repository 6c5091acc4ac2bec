"""Replays of recordings that others made: failures put in, other rewards, other data."""

import json
import random
import re
from copy import deepcopy
from pathlib import Path

import pytest

from factored.scripts import domain_scripts
from factored.taubench import airline, arithmetic, bikes, common, retail
from factored.taubench.__main__ import main
from factored.taubench.differences import answer_cause, first_difference
from factored.taubench.environment import Environment
from factored.taubench.failures import is_failure
from factored.taubench.loading import EMBEDDED, load_domain
from factored.taubench.report import DIFFERENCES
from factored.taubench.tasks import RESPOND
from factored.taubench.users import RecordedUser

FAILURES = """\
503 Service Unavailable
Error: 503 Service Unavailable
HTTP 500: Internal Server Error
Request timed out
TimeoutError: the tool did not answer within 30s
{"error": {"code": 503, "message": "Service Unavailable"}}
{"status": "error", "message": "temporarily unavailable, please retry"}
{"detail": "Internal Server Error"}
{"message": "Endpoint request timed out"}
ConnectionResetError: [Errno 104] Connection reset by peer
429 Too Many Requests
Rate limit exceeded. Please try again in 20s.
<html><head><title>502 Bad Gateway</title></head><body></body></html>
upstream connect error or disconnect/reset before headers
Tool execution failed: backend unavailable
Error: Gateway Timeout (504)
The service is temporarily down for maintenance.
Internal error
Database connection lost
OperationalError: database is locked
ReadTimeout: HTTPConnectionPool(host='x', port=80): Read timed out.
status code 502
StatusCode.UNAVAILABLE
Max retries exceeded with url: /orders
Could not connect to the database
[TOOL ERROR] transient
Error executing tool get_order_details: timeout
401 Unauthorized
ECONNREFUSED 127.0.0.1:8000
Something went wrong, please try again.""".splitlines()


def written_answers() -> set[str]:
    """Every text in the tools' own modules, alone and as the refusal that an agent reads."""
    texts = set()
    for module in (airline, arithmetic, bikes, common, retail):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        texts |= set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', source))
    return texts | {f"Error: {text}" for text in texts}


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_of_a_server_is_told_from_an_answer(text):
    assert is_failure(text)


def test_no_answer_of_the_tools_is_a_failure():
    taken = [text for text in written_answers() if is_failure(text)]
    values = ["408.0", "503.0", "mia_li_3668", "", "Transfer successful", "500"]
    assert taken == [] and [text for text in values[:-1] if is_failure(text)] == []


def test_no_answer_that_was_recorded_is_a_failure(data):
    answers = {
        message["content"]
        for file in ("gpt-4o-airline", "tool-calling-retail")
        for record in json.loads((data / "trajectories" / f"{file}.json").read_text())
        for message in record["traj"]
        if message["role"] == "tool"
    }
    assert len(answers) > 700 and [text for text in answers if is_failure(text)] == []


@pytest.mark.parametrize(
    ("ours", "recorded", "cause"),
    [
        ('{"a": 1, "b": 2}', '{"a":1,"b":2}', "rewritten_answer"),
        ('{"a": "\\u00fc"}', '{"a": "ü"}', "rewritten_answer"),
        ('{"a": null, "b": true}', "{'a': None, 'b': True}", "rewritten_answer"),
        ("M-101", "M-101\n", "rewritten_answer"),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "environment"),
        ('{"a": 1}', '{"a": 1.0}', "environment"),
        ('{"a": 1}', '{"a": 2}', "environment"),
        ('{"a": 1, "b": [1, 2, 3]}', '{"a": 1, "b": [1,', "cut_answer"),
        ('{"a": 1, "b": [1, 2, 3]}', '{"a": 1, "b"... [truncated]', "cut_answer"),
        ('{"a": 1, "b": [1, 2, 3]}', '{"a": 2, "b"... [truncated]', "environment"),
        ("Error: rental not found", "Error: rental not foun", "environment"),
        ("Error: rental not found", "Error: rental not found.", "environment"),
        ('{"a": 1}', "Error: rental not found", "environment"),
        ('{"status": "booked", "id": 1, "days": 2}', '{"status": "error 503"}', "tool_failure"),
        ('{"note": "x", "id": 1}', '{"note": "the server was down", "id": 1}', "environment"),
        ('[{"a": 1}]', '[{"a": "503 Service Unavailable"}]', "environment"),
        (None, "503 Service Unavailable", "environment"),
        ("M-101", None, "environment"),
    ],
)
def test_what_a_difference_comes_from(ours, recorded, cause):
    assert answer_cause(ours, recorded) == cause


@pytest.mark.parametrize(
    ("ours", "recorded", "path"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": 1.0}]}, "a[0].b"),
        ({"a": [1, 2]}, {"a": [1]}, "a (number of entries)"),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, "a (order of keys)"),
        ({"a": 1}, {"a": 1, "b": 2}, "b"),
        ({"a": 1}, {"a": 1}, None),
    ],
)
def test_the_first_place_at_which_two_values_part(ours, recorded, path):
    found = first_difference(ours, recorded)
    assert (found.path if found else None) == path


def test_values_that_are_nested_without_end_are_compared_to_a_bound():
    ours, recorded = [1], [2]
    for _ in range(5000):
        ours, recorded = [ours], [recorded]
    assert first_difference(ours, recorded) is not None


@pytest.fixture(scope="module")
def recorded() -> list[dict]:
    """The embedded domain's scripts as somebody else's harness would have written them down."""
    loaded = load_domain("bikes", EMBEDDED)
    scripts = domain_scripts(EMBEDDED / "bikes" / "scripts_test.json", 1)
    records = []
    for (task_id, _), script in scripts.items():
        task = loaded.tasks["test"][task_id]
        environment = Environment(loaded, RecordedUser([*script.user_lines, "Bye. ###STOP###"]))
        traj = [{"role": "user", "content": environment.reset(task)}]
        for action in script.actions:
            step = environment.step(action)
            if action.name == RESPOND:
                traj.append({"role": "assistant", "content": action.kwargs["content"]})
                traj.append({"role": "user", "content": step.observation})
            else:
                function = {"name": action.name, "arguments": json.dumps(action.kwargs)}
                traj.append({"role": "assistant", "tool_calls": [{"function": function}]})
                traj.append({"role": "tool", "name": action.name, "content": step.observation})
            if step.done:
                break
        assert step.done and step.reward is not None
        info = {"task": task.as_row(), "reward_info": step.reward.as_row()}
        reward = step.reward.reward
        records.append(
            {"task_id": task_id, "trial": 0, "reward": reward, "info": info, "traj": traj}
        )
    return records


@pytest.fixture
def replayed(tmp_path, monkeypatch, capsys):
    """Replay records of the embedded domain: exit code, counts, and the list of differences."""
    monkeypatch.chdir(tmp_path)

    def run(records, *options):
        Path("foreign.json").write_text(json.dumps(records))
        code = main(["replay", "foreign.json", "--domain", "bikes", "--json", *options])
        counts = json.loads(capsys.readouterr().out)
        lines = DIFFERENCES.read_text().splitlines() if DIFFERENCES.exists() else []
        return code, counts, [json.loads(line) for line in lines]

    return run


def calls_of(record, name):
    """Places of the answers of a tool in a record's messages."""
    return [
        index
        for index, message in enumerate(record["traj"])
        if message["role"] == "tool" and message["name"] == name
    ]


def test_the_embedded_domain_replays_without_a_data_folder(recorded, replayed):
    code, counts, found = replayed(recorded)
    assert code == 0 and found == [] and counts["rewards"] == {"equal": 14, "total": 14}
    assert not DIFFERENCES.exists()


def injected(record, chance, retried):
    """The record with failures: in an answer's place, or before a call that is made again."""
    traj, put = [], 0
    for message in record["traj"]:
        if message["role"] == "tool" and chance.random() < 0.4:
            failed = {**message, "content": chance.choice(FAILURES)}
            put += 1
            traj += [failed, deepcopy(traj[-1]), message] if retried() else [failed]
        else:
            traj.append(message)
    return {**record, "traj": traj}, put


@pytest.mark.parametrize("way", ["in the place of answers", "then made again", "both"])
def test_failures_that_were_put_in_are_counted_apart_and_are_nobodys_fault(recorded, replayed, way):
    chance = random.Random(7)
    retried = {
        "in the place of answers": lambda: False,
        "then made again": lambda: True,
        "both": lambda: chance.random() < 0.5,
    }[way]
    pairs = [injected(record, chance, retried) for record in recorded]
    put = sum(number for _, number in pairs)
    code, counts, found = replayed([record for record, _ in pairs])
    assert code == 0 and put > 10
    assert counts["observations"]["explained"] == {"tool_failure": put}
    assert counts["rewards"] == {"equal": 14, "total": 14}
    assert [row["cause"] for row in found] == ["tool_failure"] * put
    assert all({"record", "task_id", "trial", "message", "call"} <= set(row) for row in found)


def test_rewards_of_another_grader_are_named_and_are_nobodys_fault(recorded, replayed):
    records = deepcopy(recorded)
    for record, reward in zip(records, (0.5, 0.25, 1e-3, 2, -1, 87.5), strict=False):
        record["reward"] = reward
    records[6]["reward"] = records[6]["info"]["reward_info"]["info"]["r_actions"] = 0.75
    code, counts, found = replayed(records)
    assert code == 0
    assert counts["rewards"] == {"equal": 7, "total": 14, "explained": {"other_reward": 7}}
    assert [row["cause"] for row in found] == ["other_reward"] * 7
    assert "0.5" in found[0]["recorded"]


def test_a_whole_reward_that_is_wrong_is_traced_to_the_call_and_the_field(recorded, replayed):
    records = deepcopy(recorded)
    writing = next(r for r in records if calls_of(r, "cancel_rental"))
    place = calls_of(writing, "cancel_rental")[0]
    del writing["traj"][place - 1 : place + 1]
    code, counts, found = replayed(records)
    assert code == 1 and counts["rewards"]["equal"] == 13
    (row,) = [one for one in found if one["kind"] == "rewards"]
    assert row["call"] == "cancel_rental" and row["field"].startswith(("members.", "rentals."))
    assert "ours ends with" in row["first"]


def test_an_answer_that_differs_names_the_call_and_the_field(recorded, replayed):
    records = deepcopy(recorded)
    changed = next(r for r in records if calls_of(r, "get_rental"))
    message = changed["traj"][calls_of(changed, "get_rental")[0]]
    rental = json.loads(message["content"])
    rental["days"] = float(rental["days"])
    message["content"] = json.dumps(rental)
    code, _, (row,) = replayed(records)
    assert code == 1
    assert (row["kind"], row["cause"], row["call"], row["field"]) == (
        "observations",
        "environment",
        "get_rental",
        "days",
    )


def hash_of(loaded, actions):
    db = loaded.fresh_state()
    for name, kwargs in actions:
        loaded.domain.tool(name).call(db, kwargs, "bikes")
    return db.data_hash()


def truths(record):
    return [(one["name"], one["kwargs"]) for one in record["info"]["task"]["actions"]]


def test_a_hash_that_differs_is_traced_to_the_call_and_the_field(recorded, replayed):
    loaded, records = load_domain("bikes", EMBEDDED), deepcopy(recorded)
    booking = next(r for r in records if any(n == "book_rental" for n, _ in truths(r)))
    spelt = deepcopy(truths(booking))
    rider = next(kwargs for name, kwargs in spelt if name == "book_rental")["riders"][0]
    rider["height_cm"] = float(rider["height_cm"])
    cancelling = next(r for r in records if any(n == "cancel_rental" for n, _ in truths(r)))
    less = [one for one in truths(cancelling) if one[0] != "cancel_rental"]
    for record, other in ((booking, spelt), (cancelling, less)):
        parts = {"r_actions": 1.0, "gt_data_hash": hash_of(loaded, other)}
        record["info"]["reward_info"]["info"] = parts
    code, _, found = replayed(records)
    rows = {row["record"]: row for row in found if row["kind"] == "hashes"}
    row = rows[records.index(booking)]
    assert (row["call"], row["field"]) == ("book_rental", "riders[0].height_cm")
    row = rows[records.index(cancelling)]
    assert row["call"] == "cancel_rental" and "lacks call" in row["first"]
    assert code == 1 and len(rows) == 2


def test_other_data_are_traced_to_the_first_answer_that_shows_them(recorded, replayed):
    records = deepcopy(recorded)
    for record in records:
        info = record["info"]["reward_info"]["info"]
        if "gt_data_hash" in info:
            info["gt_data_hash"] = "0" * 64
    changed = next(r for r in records if calls_of(r, "get_member"))
    message = changed["traj"][calls_of(changed, "get_member")[0]]
    member = json.loads(message["content"])
    message["content"] = json.dumps({**member, "credit": 1_000_000.0})
    code, counts, found = replayed(records)
    hashes = [row for row in found if row["kind"] == "hashes"]
    assert code == 1 and counts["hashes"]["equal"] == 0 and hashes
    assert {(row["call"], row["field"]) for row in hashes} == {("get_member", "credit")}


def test_a_person_reads_what_differs_by_cause(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    record, put = injected(recorded[0], random.Random(1), lambda: False)
    assert put
    Path("foreign.json").write_text(json.dumps([{**record, "reward": 0.5}]))
    assert main(["replay", "foreign.json", "--domain", "bikes", "--differences", "d.jsonl"]) == 0
    said = capsys.readouterr().out
    assert "tool failures that were put into the recording: first record 0 (task 0" in said
    assert "rewards other than 0 and 1, of another grader" in said
    assert f"{put + 1} differences, none the environment's; all of them in d.jsonl" in said
    assert len(Path("d.jsonl").read_text().splitlines()) == put + 1


def test_an_old_list_of_differences_does_not_stay(recorded, replayed):
    DIFFERENCES.write_text("old\n")
    _, _, found = replayed(recorded[:1])
    assert found == [] and DIFFERENCES.read_text() == ""


def test_the_results_of_a_run_of_ours_need_no_domain(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("results.json").write_text(json.dumps(recorded))
    assert main(["replay", "results.json"]) == 2
    assert "Name it, as in --domain retail" in capsys.readouterr().err
    Path("config.yaml").write_text("domain: {name: bikes, province: false, split: test}")
    assert main(["replay", str(tmp_path)]) == 0
    assert main(["replay", "results.json", "--domain", "retail"]) == 2
    assert "is of a run of domain=bikes" in capsys.readouterr().err
    Path("config.yaml").write_text("{")
    assert main(["regrade", "results.json"]) == 2
    assert "config.yaml: is not YAML" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "domain", "options"),
    [
        ("tool-calling-retail.json", "retail", []),
        ("gpt-4o-airline.json", "airline", ["--province-rename"]),
    ],
)
def test_published_dialogues_with_failures_and_rewards_of_others(
    data, tmp_path, monkeypatch, capsys, file, domain, options
):
    monkeypatch.chdir(tmp_path)
    chance, records, put, graded = random.Random(3), [], 0, 0
    for record in json.loads((data / "trajectories" / file).read_text()):
        changed, number = injected(record, chance, lambda: chance.random() < 0.5)
        put += number
        if chance.random() < 0.3:
            changed["reward"], graded = round(chance.uniform(0.01, 0.99), 3), graded + 1
        records.append(changed)
    Path("foreign.json").write_text(json.dumps(records))
    arguments = ["replay", "foreign.json", "--domain", domain, "--data", str(data), *options]
    assert main([*arguments, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["observations"]["explained"] == {"tool_failure": put}
    assert counts["rewards"]["explained"] == {"other_reward": graded}
    assert len(DIFFERENCES.read_text().splitlines()) == put + graded
