"""The golden and replay commands: recordings of the original, and recordings that lie."""

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factored.taubench.__main__ import main
from factored.taubench.loading import load_domain
from factored.taubench.recordings import read_recordings
from factored.taubench.replay import MAX_LINES, Comparison, compare_recording
from factored.taubench.state import Rows, State
from factored.taubench.users import STOP

ORDER = {"order_id": "#W4", "reason": "no longer needed"}
REFUSED = "Error: non-pending order cannot be cancelled"
TASK = {"user_id": "ann_lee_1", "instruction": "Cancel.", "actions": [], "outputs": []}
SYSTEM = {"role": "system", "content": "Be kind."}
HELLO = {"role": "user", "content": "Hi."}
BYE = {"role": "user", "content": STOP}


def call(name, arguments):
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}


def tool(content):
    return {"role": "tool", "name": "x", "tool_call_id": "1", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


def record(*messages, reward=1.0, reward_info=None, **info):
    found = {"reward": reward, "info": {"r_actions": reward}, "actions": []}
    info = {"task": TASK, "reward_info": reward_info or found, **info}
    return {"task_id": 0, "trial": 0, "reward": reward, "info": info, "traj": list(messages)}


NATIVE = record(
    SYSTEM,
    HELLO,
    call("cancel_pending_order", json.dumps(ORDER)),
    tool(REFUSED),
    assistant("I cannot."),
    BYE,
)


@pytest.fixture(autouse=True)
def beside_no_file_of_others(tmp_path, monkeypatch):
    """The list of differences is written into the working folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def command(data_folder_of_both, tmp_path, capsys):
    """Run a command on a file with this content; give the exit code, counts, other output."""

    def run(content, *options, name="replay"):
        path = tmp_path / "file.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        domain = ["--domain", "retail"] if name == "replay" else []
        arguments = [name, str(path), *domain, "--data", str(data_folder_of_both), *options]
        code = main([*arguments, "--json"])
        out, err = capsys.readouterr()
        counts = {key: (v["equal"], v["total"]) for key, v in json.loads(out or "{}").items()}
        # The small data is not the published one, which is said each time.
        said = [line for line in err.splitlines(keepends=True) if "not as published" not in line]
        return code, counts, "".join(said)

    return run


def test_a_native_recording_is_equal(command):
    code, counts, _ = command([NATIVE])
    assert code == 0
    assert counts == {
        "observations": (1, 1),
        "done": (2, 2),
        "hashes": (0, 0),
        "rewards": (1, 1),
    }


@pytest.mark.parametrize(
    "arguments", [json.dumps(ORDER), repr(ORDER), ORDER], ids=["json", "python", "object"]
)
def test_arguments_may_be_json_a_python_literal_or_an_object(command, arguments):
    messages = (SYSTEM, HELLO, call("cancel_pending_order", arguments), tool(REFUSED))
    assert command([record(*messages, assistant("No."), BYE)])[0] == 0


def test_only_the_first_of_several_calls_is_run(command):
    both = call("cancel_pending_order", json.dumps(ORDER))
    both["tool_calls"].append({"function": {"name": "x", "arguments": "not read"}})
    code, counts, _ = command([record(SYSTEM, HELLO, both, tool(REFUSED), assistant("No."), BYE)])
    assert code == 0 and counts["observations"] == (1, 1)


@pytest.mark.parametrize("label", ["Thought:\nHm. Action: no\nAction:\n", "Action:\n", ""])
def test_a_text_agents_recording_is_read_from_its_last_action(command, label):
    action = json.dumps({"name": "cancel_pending_order", "arguments": ORDER})
    reply = json.dumps({"name": "respond", "arguments": {"content": "I cannot."}})
    code, counts, _ = command(
        [
            record(
                {"role": "system", "content": "Be kind.\n#Available tools\n[]"},
                HELLO,
                assistant(label + action),
                {"role": "user", "content": f"API output: {REFUSED}"},
                assistant(label + reply),
                {"role": "user", "content": "Why?"},
                assistant(f"{label}It was sent."),
                BYE,
            )
        ]
    )
    assert code == 0
    assert counts["observations"] == (1, 1) and counts["done"] == (3, 3)


def test_a_run_into_the_step_limit_has_reward_0_and_no_end(command):
    messages = (SYSTEM, HELLO, call("think", '{"thought": "x"}'), tool(""))
    limit = record(*messages, reward=0.0)
    limit["info"]["reward_info"] = None
    code, counts, _ = command([limit])
    assert code == 0 and counts["done"] == (1, 1) and counts["rewards"] == (1, 1)


def test_outputs_and_what_was_said_are_compared(command):
    info = {"r_outputs": 0.0, "outputs": {"5": True, "6": False}}
    found = {"reward": 0.0, "info": info, "actions": []}
    wanted = {**TASK, "outputs": ["5", "6"]}
    said = record(SYSTEM, HELLO, assistant("5"), BYE, reward=0.0, reward_info=found, task=wanted)
    assert command([said])[0] == 0
    info["outputs"]["6"] = True
    code, counts, err = command([said])
    assert code == 1 and counts["rewards"] == (0, 1) and "rewards" in err


def test_an_episode_that_crashed_unrecorded_is_named_and_left_out(command):
    crashed = {"task_id": 1, "reward": 0.0, "info": {"error": "boom\x1b[31m\nx"}, "traj": []}
    code, counts, err = command([NATIVE, crashed])
    assert code == 0 and counts["rewards"] == (1, 1)
    assert err == "warning: record 1 has no messages: boom\\x1b[31m\\nx\n"


LIES = {
    "observations": lambda r: r["traj"][3].update(content=REFUSED + "."),
    "done": lambda r: r["traj"][5].update(content="Not yet."),
    "rewards": lambda r: r.update(reward=0.0),
    "hashes": lambda r: r["info"]["reward_info"]["info"].update(gt_data_hash="0" * 64),
}


@pytest.mark.parametrize("kind", LIES)
def test_a_recording_that_differs_is_counted_shown_and_exits_with_1(command, kind):
    lying = json.loads(json.dumps(NATIVE))
    LIES[kind](lying)
    code, counts, err = command([NATIVE, lying])
    assert code == 1
    equal, total = counts[kind]
    assert equal == total - 1
    assert "record 1 (task 0, trial 0)" in err and f"{kind}: differ" in err
    others = {"done": {"rewards"}}.get(kind, set())
    assert all(e == t for k, (e, t) in counts.items() if k != kind and k not in others)


def test_a_call_whose_arguments_cannot_be_read_is_a_difference(command):
    broken = record(SYSTEM, HELLO, call("think", "{oops"), tool(""), assistant("No."), BYE)
    code, counts, err = command([broken])
    assert code == 1 and counts["observations"] == (0, 1)
    assert "neither JSON nor a Python literal" in err


def test_a_recording_that_breaks_off_is_a_difference_not_a_crash(command):
    code, counts, _ = command([record(SYSTEM, HELLO, call("think", '{"thought": ""}'))])
    assert code == 1 and counts["observations"] == (0, 1)


def test_many_differences_are_shown_in_a_bounded_list(command):
    lying = json.loads(json.dumps(NATIVE))
    lying["traj"][3]["content"] = "x" * 100_000
    code, counts, err = command([lying] * 100)
    assert code == 1 and counts["observations"] == (0, 100)
    lines = err.splitlines()
    assert len(lines) == MAX_LINES + 1 and lines[-1] == "... and 80 more differences"
    assert max(map(len, lines)) < 600


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "must be a list"),
        ("[1]", "record 0: needs the dialogue's messages in 'traj'"),
        ([{"traj": [{"role": 1}], "info": {"task": TASK}}], "record 0: every message needs"),
        ([{"traj": [HELLO], "info": {}}], "record 0: needs its task in 'info.task'"),
        ([{"traj": [HELLO], "info": {"task": {}}}], "record 0: a task needs 'user_id'"),
        ([{"traj": [HELLO], "info": {"task": {**TASK, "outputs": [1]}}}], "must be strings"),
        ([{"traj": [HELLO], "info": {"task": {**TASK, "actions": [{}]}}}], "'kwargs'"),
        (
            [
                {
                    "traj": [HELLO],
                    "info": {"task": {**TASK, "actions": [{"name": "x", "kwargs": 1}]}},
                }
            ],
            "JSON object",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_one_line_and_exit_code_2(command, content, words):
    code, counts, err = command(content)
    assert (code, counts) == (2, {})
    assert words in err and err.startswith("error: ") and err.count("\n") == 1


GOLDEN_CALL = {
    "name": "cancel_pending_order",
    "kwargs": ORDER,
    "observation": REFUSED,
    "done": False,
}
CRASH_CALL = {"name": "respond", "kwargs": {}, "raises": "KeyError", "done": None}


def sequences(*calls, **more):
    return {"sequences": [{"domain": "retail", "title": "t", "calls": list(calls), **more}]}


def test_a_golden_sequence_is_equal_and_a_crash_is_expected_where_it_was(command):
    code, counts, _ = command(sequences(GOLDEN_CALL, CRASH_CALL), name="golden")
    assert code == 0 and counts["observations"] == counts["done"] == (1, 1)
    no_crash = {"name": "think", "kwargs": {"thought": ""}, "raises": "KeyError", "done": None}
    code, _, err = command(sequences(no_crash), name="golden")
    assert code == 1 and "sequence 0" in err


@pytest.mark.parametrize("lie", [{"observation": ""}, {"done": True}, {"done": 0}])
def test_a_golden_call_that_differs_is_a_difference(command, lie):
    assert command(sequences({**GOLDEN_CALL, **lie}), name="golden")[0] == 1


def test_a_golden_hash_that_differs_is_a_difference(command):
    code, counts, _ = command(sequences(GOLDEN_CALL, data_hash="0"), name="golden")
    assert code == 1 and counts["hashes"] == (0, 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "needs a list 'sequences'"),
        (sequences(1), "sequence 0 cannot be read"),
        (sequences({"name": "x", "kwargs": []}), "sequence 0 cannot be read"),
        (sequences({"name": "x", "kwargs": {}}), "sequence 0 cannot be read"),
        ({"sequences": [{"domain": "retial", "calls": []}]}, "did you mean 'retail'?"),
    ],
)
def test_a_file_that_is_no_golden_one_is_one_line_and_exit_code_2(command, content, words):
    code, counts, err = command(content, name="golden")
    assert (code, counts) == (2, {})
    assert words in err and err.count("\n") == 1


def test_without_json_the_counts_are_read_by_people(data_folder_of_both, tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_text(json.dumps([NATIVE]))
    arguments = ["replay", str(path), "--domain", "retail", "--data", str(data_folder_of_both)]
    assert main(arguments) == 0
    assert "observations       1 of 1 equal" in capsys.readouterr().out


def test_the_module_runs_as_a_command(data_folder_of_both, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(sequences({**GOLDEN_CALL, "done": True})))
    command = [sys.executable, "-m", "factored.taubench", "golden", str(path), "--json"]
    environment = {**os.environ, "TAUBENCH_PATH": str(data_folder_of_both)}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["done"] == {"equal": 0, "total": 1}


def test_the_data_folder_may_come_from_the_environment(
    data_folder_of_both, tmp_path, capsys, monkeypatch
):
    path = tmp_path / "file.json"
    path.write_text(json.dumps([NATIVE]))
    monkeypatch.delenv("TAUBENCH_PATH", raising=False)
    assert main(["replay", str(path), "--domain", "retail"]) == 2
    assert "TAUBENCH_PATH" in capsys.readouterr().err
    monkeypatch.setenv("TAUBENCH_PATH", str(tmp_path / "nowhere"))
    assert main(["replay", str(path), "--domain", "retail"]) == 2
    assert "no such data folder" in capsys.readouterr().err
    monkeypatch.setenv("TAUBENCH_PATH", str(data_folder_of_both))
    assert main(["replay", str(path), "--domain", "retail"]) == 0


def test_a_wrong_command_line_is_one_line_and_exit_code_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["replay", "x", "--domain", "retial"])
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and err.count("\n") == 1 and "retail" in err


def test_the_published_call_sequences_are_all_equal(data, capsys):
    path = data / "golden_calls.json"
    assert main(["golden", str(path), "--data", str(data), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    content = json.loads(path.read_text())["sequences"]
    calls = sum("observation" in c for sequence in content for c in sequence["calls"])
    assert counts["observations"] == counts["done"] == {"equal": calls, "total": calls}
    assert counts["hashes"] == {"equal": len(content), "total": len(content)}
    # The shared records, rendered anew: no call has written to them.
    for name in ("retail", "airline"):
        loaded = load_domain(name, data.resolve())
        anew = State({table: Rows(rows.records) for table, rows in loaded.snapshot.items()})
        assert anew.data_hash() == loaded.fresh_state().data_hash()


@pytest.mark.parametrize(
    ("file", "domain", "options", "totals"),
    [
        ("tool-calling-retail.json", "retail", [], (793, 65, 100)),
        ("gpt-4o-airline.json", "airline", ["--province-rename"], (1164, 182, 200)),
    ],
)
def test_the_recorded_dialogues_are_all_equal(data, capsys, file, domain, options, totals):
    path = data / "trajectories" / file
    arguments = ["replay", str(path), "--domain", domain, "--data", str(data), "--json", *options]
    assert main(arguments) == 0
    counts = json.loads(capsys.readouterr().out)
    found = tuple(counts[kind]["total"] for kind in ("observations", "hashes", "rewards"))
    assert found == totals
    assert all(count["equal"] == count["total"] for count in counts.values())


def test_without_the_rename_users_and_hashes_differ_and_rewards_do_not(data, capsys):
    path = data / "trajectories" / "gpt-4o-airline.json"
    arguments = ["replay", str(path), "--domain", "airline", "--data", str(data), "--json"]
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    counts = json.loads(out)
    assert counts["observations"] == {"equal": 1044, "total": 1164}
    assert counts["hashes"]["equal"] == 0
    assert counts["rewards"] == {"equal": 200, "total": 200}
    assert "--province-rename" in err


def test_dialogues_replayed_by_threads_in_any_order_are_equal(data):
    loaded = load_domain("retail", data)
    recordings, _ = read_recordings(data / "trajectories" / "tool-calling-retail.json")
    random.Random(1).shuffle(recordings)
    together = Comparison()
    with ThreadPoolExecutor(8) as pool:
        for part in pool.map(lambda r: compare_recording(loaded, r), recordings):
            together.add(part)
    assert together.differences == 0 and together.equal["observations"] == 793


def test_data_that_is_not_named_is_asked_for_in_the_words_of_the_command(
    monkeypatch, capsys, entry
):
    monkeypatch.delenv("TAUBENCH_PATH", raising=False)
    assert main(["truth", "--domain", "retail"]) == 2
    assert "give --data DIR or set TAUBENCH_PATH" in capsys.readouterr().err
    for config in ("taubench", "calls"):
        ended = entry(f"--config-name={config}", "domain=retail", "tracker=none")
        assert ended.code == 2
        assert "give taubench.path=DIR or set TAUBENCH_PATH" in ended.err
        ended = entry(f"--config-name={config}", "domain=retail", "taubench.path=nowhere")
        assert "nowhere: no such data folder: give taubench.path=DIR" in ended.err
