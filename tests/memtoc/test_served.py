"""An arm on a server: no weights here, nothing asked twice, trouble counted and never scored."""

import json
from collections.abc import Callable
from pathlib import Path

from support.arms import read_jsonl
from support.chat_server import CUT, Answer, Asked, chat_serving, error, faulty, said
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
