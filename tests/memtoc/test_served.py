"""An arm on a server: no weights here, nothing asked twice, trouble counted and never scored."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.arms import read_jsonl
from support.chat_server import (
    CUT,
    Answer,
    Asked,
    MortalServer,
    chat_serving,
    error,
    faulty,
    of_json,
    said,
)
from support.entries import Entry, arm_folders


def answers(asked: Asked) -> Answer:
    """Every question gets the answer that stands in its prompt's middle: any text will do."""
    return said(f"FINAL: {len(asked.prompt)}")


def served(url: str, *more: str) -> list[str]:
    return [
        "engine=openai",
        f"engine.base_url={url}",
        "engine.pause_s=0.0",
        "engine.retries=1",
        "model=qwen",
        "limit=4",
        "tracker=none",
        *more,
    ]


def test_an_arm_runs_on_a_server_without_weights_and_a_finished_one_asks_nothing(
    entry: Entry, tmp_path: Path
):
    with chat_serving(answers) as server:
        first = entry(*served(server.url))
        assert first.code == 0, first.err
        asked = len(server.asked)
        assert len({json.dumps(request.body) for request in server.asked}) == asked > 0
        assert {request.body["model"] for request in server.asked} == {"Qwen/Qwen2.5-7B-Instruct"}
        assert entry(*served(server.url)).code == 0
        assert entry(*served(server.url, "paths.runs=elsewhere")).code == 0
        assert len(server.asked) == asked, "the second arm reads the cache"
    (folder,) = arm_folders(tmp_path / "runs")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["engines"]["model"]["server"] == server.url
    assert set(manifest["engines"]["model"]["reported"]) == {"served fp_1"}
    assert not (tmp_path / ".cache" / "models").exists()


def test_a_dry_run_asks_no_server(entry: Entry):
    shown = entry(*served("http://127.0.0.1:9/v1", "dry_run=true"))
    assert shown.code == 0, shown.err
    assert "distinct prompts" in shown.out


def test_faults_that_pass_leave_the_arm_as_it_would_have_been(entry: Entry, tmp_path: Path):
    def episodes(answer: Callable[[Asked], Answer], runs: str) -> list[dict[str, object]]:
        with chat_serving(answer) as server:
            paths = [
                f"paths.{name}={tmp_path / runs / name}" for name in ("runs", "memories", "cache")
            ]
            ended = entry(*served(server.url, "engine.server=ours", *paths))
        assert ended.code == 0, ended.err
        (folder,) = arm_folders(tmp_path / runs / "runs")
        return read_jsonl(folder / "episodes.jsonl")

    assert episodes(faulty(answers, CUT), "rough") == episodes(answers, "calm")


def test_rows_that_fail_are_errors_and_only_they_are_asked_again(entry: Entry, tmp_path: Path):
    ill = True

    def answer(asked: Asked) -> Answer:
        return error(500, "out of order") if ill and len(asked.prompt) % 3 == 0 else answers(asked)

    with chat_serving(answer) as server:
        ended = entry(*served(server.url))
        assert ended.code == 1
        assert "HTTP 500: out of order (tried 2 times)" in ended.err
        failed = {json.dumps(asked.body) for asked in server.asked if len(asked.prompt) % 3 == 0}
        good = {json.dumps(asked.body) for asked in server.asked} - failed
        ill = False
        before = len(server.asked)
        assert entry(*served(server.url)).code == 0
        assert not good & {json.dumps(asked.body) for asked in server.asked[before:]}
    (folder,) = arm_folders(tmp_path / "runs")
    assert {row["status"] for row in read_jsonl(folder / "episodes.jsonl")} == {"ok"}


def test_a_server_that_moves_goes_on_with_the_same_arm_where_it_has_a_name(
    entry: Entry, tmp_path: Path
):
    for _ in range(2):
        with chat_serving(answers) as server:
            assert entry(*served(server.url, "engine.server=ours")).code == 0
            moved = len(server.asked)
    assert moved == 0
    assert len(arm_folders(tmp_path / "runs")) == 1
    with chat_serving(answers) as server:
        assert entry(*served(server.url)).code == 0
        assert len(server.asked) > 0, "another address without a name is another server"


def test_mistakes_are_told_in_a_line(entry: Entry):
    with chat_serving(lambda _: error(401, "no key")) as server:
        for more, words in (
            ("limit=4", "engine.key_variable"),
            ("engine.base_url=there", "engine.base_url is no address"),
            ("engine.key_variable=sk-abc", "never the key"),
            ("engine.concurrency=0", "engine.concurrency"),
            ("engine.takes=[seeds]", "engine.takes"),
            ("model=llama_base", "base checkpoint"),
        ):
            ended = entry(*served(server.url, more))
            assert ended.code == 2, more
            assert words in ended.err
            assert "sk-abc" not in ended.err
            assert len(ended.err.strip().splitlines()) <= 2


NOTHING = {"prompt_tokens": 7, "completion_tokens": 0}


def manifest_of(runs: Path) -> dict[str, Any]:
    (folder,) = arm_folders(runs)
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_a_server_that_gives_only_empty_answers_fails_the_arm_until_it_is_mended(
    entry: Entry, tmp_path: Path
):
    cold = True

    def answer(asked: Asked) -> Answer:
        return said(None, usage=NOTHING) if cold else answers(asked)

    with chat_serving(answer) as server:
        ended = entry(*served(server.url))
        assert ended.code == 1
        assert "4 of 4 rows are empty" in ended.err
        assert "report.max_empty_rate" in ended.err
        (folder,) = (tmp_path / "memories").iterdir()
        assert "4 of 4 rows are empty" in (folder / "FAILED").read_text()
        assert len(server.asked) == 4 * 2, "each is asked again, as often as engine.retries says"
        cold = False
        assert entry(*served(server.url)).code == 0
    (arm,) = arm_folders(tmp_path / "runs")
    assert {row["status"] for row in read_jsonl(arm / "episodes.jsonl")} == {"ok"}


def test_a_share_of_empty_rows_that_is_allowed_is_said_beside_the_result(
    entry: Entry, tmp_path: Path
):
    def answer(asked: Asked) -> Answer:
        return said("") if len(asked.prompt) % 5 == 0 else answers(asked)

    with chat_serving(answer) as server:
        first = entry(*served(server.url))
        asked = len(server.asked)
        assert first.code == 0, first.err
        again = entry(*served(server.url))
        assert len(server.asked) == asked, "an empty reply that the model wrote is its reply"
        strict = entry(*served(server.url, "report.max_empty_rate=0", "paths.runs=strict"))
    rows = read_jsonl(arm_folders(tmp_path / "runs")[0] / "episodes.jsonl")
    empty = sum(row["status"] == "empty" for row in rows)
    share = f"{empty} of {len(rows)} rows are empty ({100 * empty / len(rows):.1f} %"
    assert 0 < empty < len(rows) / 2
    for ended in (first, again):
        assert f"note: {share}" in ended.out
    assert strict.code == 1
    assert f"{empty} of {len(rows)} rows are empty" in strict.err


def test_text_that_a_server_put_elsewhere_is_found_and_said(entry: Entry, tmp_path: Path):
    mended = False

    def answer(asked: Asked) -> Answer:
        if mended or len(asked.prompt) % 5:
            return answers(asked)
        return said(None, finish="length" if len(asked.prompt) % 2 else "stop", reasoning="Hm.")

    with chat_serving(answer) as server:
        ended = entry(*served(server.url, "report.max_empty_rate=1"))
        mended = True
        again = entry(*served(server.url, "paths.runs=again", "paths.memories=again"))
    hidden = said("", reasoning_content="It was she.")
    with chat_serving(lambda _: hidden) as server:
        refused = entry(*served(server.url, "paths.runs=refused", "paths.memories=refused"))
    assert refused.code == 1
    assert "4 of 4 rows are empty, and the server put text into reasoning_content" in refused.err
    assert "decoding.max_new_tokens" in refused.err
    assert ended.code == again.code == 0, ended.err
    assert "have no text, and the server put text into reasoning: " in ended.out
    assert "decoding.max_new_tokens" in ended.out
    assert "reasoning parser" in ended.out
    (before,), (after,) = arm_folders(tmp_path / "runs"), arm_folders(tmp_path / "again")[:1]
    assert {"empty", "truncated"} & {row["status"] for row in read_jsonl(before / "episodes.jsonl")}
    assert "empty" not in {row["status"] for row in read_jsonl(after / "generations.jsonl")}, (
        "what a mended server may answer is asked again"
    )


def test_a_thought_that_the_template_opened_is_no_answer_and_is_noted(entry: Entry, tmp_path: Path):
    def thinking(asked: Asked) -> Answer:
        return said(f"FINAL: no, wait</think>FINAL: {len(asked.prompt)}")

    paths = ("paths.runs=thinking", "paths.memories=thinking", "paths.cache=thinking/cache")
    with chat_serving(thinking) as server:
        noted = entry(*served(server.url, *paths))
        declared = entry(*served(server.url, "model.thinking=true", *paths))
    with chat_serving(answers) as server:
        plain = entry(*served(server.url))
    assert noted.code == declared.code == plain.code == 0, noted.err
    assert "rows hold </think> without <think>" in noted.out
    assert "model.thinking=true" in noted.out
    assert "</think>" not in declared.out
    outcomes = [
        [row["scores"] for row in read_jsonl(folder / "episodes.jsonl")]
        for root in ("thinking", "runs")
        for folder in arm_folders(tmp_path / root)
        if (folder / "episodes.jsonl").exists()
    ]
    assert len(outcomes) == 3
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_the_manifest_counts_how_replies_ended_and_which_told_no_usage(
    entry: Entry, tmp_path: Path
):
    def answer(asked: Asked) -> Answer:
        content = json.loads(answers(asked).content)
        reason = (None, "eos_token", "", "stop")[len(asked.prompt) % 4]
        content["choices"][0]["finish_reason"] = reason
        if len(asked.prompt) % 2:
            del content["usage"]
        return of_json(content)

    def silent(asked: Asked) -> Answer:
        content = json.loads(answers(asked).content)
        return of_json({"choices": content["choices"]})

    with chat_serving(answer) as server:
        assert entry(*served(server.url)).code == 0
        memory = {json.dumps(asked.body) for asked in server.asked[:4]}
        prompts = [asked.prompt for asked in server.asked if json.dumps(asked.body) not in memory]
    with chat_serving(silent) as server:
        assert entry(*served(server.url, "paths.runs=silent")).code == 0
    manifest = manifest_of(tmp_path / "runs")
    names = {0: "null", 1: "eos_token", 2: "empty", 3: "stop"}
    counted = Counter(names[len(prompt) % 4] for prompt in prompts)
    # The memory's four are asked within the arm: its manifest counts them too.
    total = manifest["engines"]["model"]["finish_reasons"]
    assert sum(total.values()) == len(prompts) + 4
    assert all(total[name] >= count for name, count in counted.items())
    told = [prompt for prompt in prompts if len(prompt) % 2 == 0]
    counts = manifest["counts"]
    assert counts["without_usage"] == len(prompts) - len(told) > 0
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (7 * len(told), 3 * len(told))
    quiet = manifest_of(tmp_path / "silent")["counts"]
    assert (quiet["prompt_tokens"], quiet["completion_tokens"]) == (None, None)
    assert quiet["without_usage"] == quiet["generated"] > 0
    (arm,) = arm_folders(tmp_path / "silent")
    rows = read_jsonl(arm / "generations.jsonl")
    assert {row["prompt_tokens"] for row in rows} == {None}


def test_a_server_lost_for_good_keeps_what_is_finished_and_the_same_command_goes_on(
    entry: Entry, tmp_path: Path
):
    def answer(asked: Asked) -> Answer:
        if asked.number == 9:
            server.kill()
        return answers(asked)

    server = MortalServer(answer)
    command = served(server.url, "engine.concurrency=1")
    ended = entry(*command)
    assert ended.code == 2
    assert "has gone and not come back" in ended.err
    assert "same command again" in ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert "not come back" in (folder / "FAILED").read_text()
    kept = [row["request"] for row in read_jsonl(folder / "generations.jsonl")]
    assert len(set(kept)) >= 5, "ten were answered, four of them the memory's"
    server.start()
    again = entry(*command)
    server.kill()
    assert again.code == 0, again.err
    assert all(asked.again == 0 for asked in server.asked), "nothing is asked twice"
    assert not (folder / "FAILED").exists()


def test_a_server_that_takes_no_request_is_quoted(entry: Entry):
    with chat_serving(lambda _: error(400, "Unsupported parameter: 'seed'\x1b[2J")) as server:
        few = entry(*served(server.url))
        many = entry(*served(server.url, "limit=40"))
    assert (few.code, many.code) == (1, 2)
    for ended in (few, many):
        assert "Unsupported parameter: 'seed'\\x1b[2J" in ended.err
        assert ended.err.strip().splitlines()[-1].isprintable()
    assert len(server.asked) < 30


def test_a_sweep_says_what_its_arms_have_in_common_once(entry: Entry):
    def answer(asked: Asked) -> Answer:
        return said("") if len(asked.prompt) % 5 == 0 else answers(asked)

    with chat_serving(answer) as server:
        swept = entry("-m", *served(server.url, "formulation=ref,paraA,paraB", "limit=12"))
    assert swept.code == 0, swept.err
    (line,) = [
        line
        for line in swept.out.splitlines()
        if "rows are empty" in line and "memory: " not in line
    ]
    assert line.startswith("note: formulation=ref: ")
    assert line.endswith("(and so in 2 other arms)")
