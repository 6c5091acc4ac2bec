import json
import shutil
from pathlib import Path

import pytest
from support import scripted
from support.arms import (
    ArmResult,
    compose_config,
    mock_config,
    rate,
    read_jsonl,
    requests_of,
    results,
    row,
    run,
    write_rows,
)

from harness.errors import RunFailedError, UserError
from harness.generation import release
from memtoc.scoring import MATCHERS


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripted")


@pytest.fixture(scope="module")
def result(home: Path) -> ArmResult:
    return run(scripted.config(home))


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("name", scripted.BY_HAND, ids=" ".join)
def test_every_rate_is_what_a_person_counts(result: ArmResult, matcher: str, name: tuple[str, str]):
    found = rate(result, matcher, *name)
    numerator, denominator, errors = scripted.BY_HAND[name]
    assert (found["numerator"], found["denominator"]) == (numerator, denominator)
    assert found["errors"] == errors
    assert found["value"] == pytest.approx(numerator / denominator)
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1


@pytest.mark.parametrize("matcher", MATCHERS)
def test_no_rate_was_forgotten(result: ArmResult, matcher: str):
    rates = result.metrics["matchers"][matcher]["rates"]
    names = [(found["metric"], found["definition"]) for found in rates]
    assert len(set(names)) == len(names)
    assert set(names) == {*scripted.BY_HAND, ("conflict-resolved accuracy", "mean of cells")}


@pytest.mark.parametrize("matcher", MATCHERS)
def test_the_mean_of_cells_is_the_mean_of_two_rates(result: ArmResult, matcher: str):
    found = rate(result, matcher, "conflict-resolved accuracy", "mean of cells")
    assert found["value"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert (found["numerator"], found["denominator"], found["errors"]) == (None, 2, 1)


@pytest.mark.parametrize("matcher", MATCHERS)
def test_cells_are_counted_by_condition(result: ArmResult, matcher: str):
    assert result.metrics["matchers"][matcher]["cells"] == scripted.CELLS_BY_HAND


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_cut_reply_is_counted_and_is_no_wrong_answer(result: ArmResult, matcher: str):
    for metric in ("noop accuracy", "noop abstention"):
        assert rate(result, matcher, metric, "ours")["truncated"] == 1
    assert rate(result, matcher, "no_tool accuracy", "ours")["truncated"] == 0
    (cut,) = [item for item in episodes(result) if item["status"] == "truncated"]
    assert (cut["id"], cut["condition"]) == ("q5", "noop")
    assert cut["scores"][matcher]["outcome"] is None
    assert cut["scores"][matcher]["cell"] == "both_wrong"


def episodes(result: ArmResult) -> list[dict]:
    return read_jsonl(result.folder / "episodes.jsonl")


def test_failed_rows_have_no_decision_and_are_counted(result: ArmResult):
    failed = [item for item in episodes(result) if item["status"] == "error"]
    named = {(item["id"], item["condition"]) for item in failed}
    assert named == {("q7", "tool_wrong"), ("q8", "noop"), ("q8", "no_tool")}
    assert all(item["scores"][m]["outcome"] is None for item in failed for m in MATCHERS)
    assert all(item["span"] is None for item in failed)
    assert result.metrics["status"] == {"ok": 43, "error": 3, "truncated": 1}


def test_the_cell_of_a_failed_row_is_known_and_that_of_a_failed_memory_is_not(result: ArmResult):
    cells = {
        (item["id"], item["condition"]): item["scores"]["boundary"]["cell"]
        for item in episodes(result)
    }
    assert cells["q7", "tool_wrong"] == "arb"
    assert {cell for (name, _), cell in cells.items() if name == "q8"} == {None}
    assert cells["q6", "tool_right"] == "mem_absent"


def test_rows_stand_in_canonical_order_with_their_raw_text(result: ArmResult):
    rows = read_jsonl(result.folder / "generations.jsonl")
    scored = episodes(result)
    assert [(r["id"], r["condition"]) for r in rows] == [(s["id"], s["condition"]) for s in scored]
    replies = scripted.replies()
    for item in rows:
        name = "memory" if item["condition"] == "no_tool" else item["condition"]
        reply = replies[item["id"], name]
        assert item["text"] == (reply if isinstance(reply, str) else "")
        assert item["error"] == (None if isinstance(reply, str) else "server down")


def test_an_arms_folder_holds_what_it_should(result: ArmResult):
    names = {path.name for path in result.folder.iterdir()}
    assert names == {
        "config.yaml", "manifest.json", "generations.jsonl", "episodes.jsonl", "metrics.json",
        "DONE", ".lock",
    }  # fmt: skip


def test_the_manifest_says_what_a_result_stands_on(result: ArmResult):
    manifest = result.manifest
    assert manifest["counts"] == {
        "rows": 47,
        "distinct": 47,
        "cached": 7,
        "generated": 37,
        "failed": 3,
        "prompt_tokens": manifest["counts"]["prompt_tokens"],
        "completion_tokens": manifest["counts"]["completion_tokens"],
        "engine_loads": 1,
        "skipped": {"tool_wrong_far": 1},
    }
    assert manifest["counts"]["prompt_tokens"] > manifest["counts"]["completion_tokens"] > 0
    assert set(manifest["digests"]) == {"weights", "adapter", "benchmark", "engine"}
    assert manifest["about"]["questions"] == 8
    facts = "fingerprint started finished seed python packages git_commit hardware models engines"
    assert set(facts.split()) <= set(manifest)
    assert {"scorer", "memory"} <= set(manifest["about"])
    assert Path(manifest["about"]["memory"]["folder"], "DONE").exists()


def test_rates_by_group_add_up(result: ArmResult):
    for matcher in MATCHERS:
        measured = result.metrics["matchers"][matcher]
        for group in ("by_fold", "by_kind", "by_family"):
            sums: dict[tuple[str, str], list[int]] = {}
            for rates in measured[group].values():
                for found in rates:
                    entry = sums.setdefault((found["metric"], found["definition"]), [0, 0])
                    entry[0] += found["numerator"]
                    entry[1] += found["denominator"]
            assert sums == {name: list(counts[:2]) for name, counts in scripted.BY_HAND.items()}
        first = {(r["metric"], r["definition"]): r for r in measured["by_fold"]["A"]}
        assert first["retention", "ours"]["denominator"] == 3
        assert first["correct-tool following", "ours"]["numerator"] == 1


def test_a_finished_arm_is_read_and_not_run_again(home: Path, result: ArmResult):
    before = written(result.folder)
    again = run(scripted.config(home))
    assert (again.fresh, again.folder, again.metrics) == (False, result.folder, result.metrics)
    assert written(result.folder) == before


def written(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != ".lock"}


def test_a_recording_replays_to_the_same_episodes_and_rates(
    home: Path, result: ArmResult, tmp_path
):
    recording = tmp_path / "all.jsonl"
    memory = Path(result.manifest["about"]["memory"]["folder"])
    recording.write_text(
        (memory / "generations.jsonl").read_text()
        + (result.folder / "generations.jsonl").read_text()
    )
    replayed = run(
        compose_config(
            "engine=replay",
            f"engine.recording={recording}",
            "benchmark=folder",
            f"benchmark.path={home / 'questions.jsonl'}",
            "report.max_error_rate=0.2",
            *[f"paths.{name}={tmp_path / name}" for name in ("runs", "memories", "cache")],
        )
    )
    assert replayed.folder.name != result.folder.name
    assert results(replayed.folder) == results(result.folder)


def test_what_was_never_recorded_fails_and_is_not_scored(home: Path, result: ArmResult, tmp_path):
    recording = tmp_path / "memory-only.jsonl"
    memory = Path(result.manifest["about"]["memory"]["folder"])
    shutil.copy(memory / "generations.jsonl", recording)
    with pytest.raises(RunFailedError, match=r"40 of 47 rows failed \(first: not in the recording"):
        run(
            compose_config(
                "engine=replay",
                f"engine.recording={recording}",
                "benchmark=folder",
                f"benchmark.path={home / 'questions.jsonl'}",
                "report.max_error_rate=0.2",
                *[f"paths.{name}={tmp_path / name}" for name in ("runs", "memories", "cache")],
            )
        )


def test_a_truncated_reply_with_an_answer_is_scored_and_counted_as_cut(tmp_path: Path, towns: Path):
    config = mock_config(tmp_path, towns, "conditions=[tool_wrong]")
    texts = {"q1": "FINAL: Modena", "q2": "FINAL: Haarlem", "q3": "FINAL: Stavanger"}
    rows = []
    for (name, condition), request in requests_of(config).items():
        text = "FINAL: Nowhere" if condition == "memory" else texts[name]
        finish = "length" if condition == "tool_wrong" and name != "q1" else "stop"
        rows.append(
            {"request": request.digest, "text": text, "finish": finish, "prompt_tokens": 1,
             "completion_tokens": 1, "error": None}
        )  # fmt: skip
    recording = write_rows(tmp_path / "r.jsonl", rows)
    engine = compose_config("engine=replay", f"engine.recording={recording}")["engine"]
    found = rate(run({**config, "engine": engine}), "boundary", "incorrect-tool following", "ours")
    assert (found["numerator"], found["denominator"], found["truncated"]) == (3, 3, 2)


def test_too_many_errors_fail_the_arm_and_a_better_engine_goes_on(tmp_path: Path, towns: Path):
    config = mock_config(tmp_path, towns, "report.max_error_rate=0.1")
    rules = [{"contains": "Modena", "error": "server down"}, {"contains": "Haarlem", "error": "x"}]
    broken = {**config, "engine": {**config["engine"], "rules": rules}}
    with pytest.raises(RunFailedError, match=r"2 of 17 rows failed \(first: server down\)"):
        run(broken)
    (folder,) = (tmp_path / "runs").iterdir()
    assert "2 of 17 rows failed" in (folder / "FAILED").read_text()
    assert not (folder / "DONE").exists()
    assert len(read_jsonl(folder / "generations.jsonl")) == 17

    config["report"]["max_error_rate"] = 0.2
    finished = run({**broken, "report": config["report"]})
    assert finished.folder == folder, "how many errors are borne is no part of an arm's identity"
    assert (folder / "DONE").exists()
    assert not (folder / "FAILED").exists()
    assert finished.manifest["counts"]["failed"] == 2
    assert finished.manifest["counts"]["generated"] == 0


def test_too_many_errors_in_the_memory_fail_the_arm(tmp_path: Path, towns: Path):
    config = mock_config(tmp_path, towns)
    word = config["formulation"]["closed_book"]["forced"][:30]
    rules = [{"contains": word, "error": "server down"}]
    with pytest.raises(RunFailedError, match="3 of 3 rows failed"):
        run({**config, "engine": {**config["engine"], "rules": rules}})
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "FAILED").exists()


def test_the_memory_is_shared_by_the_arms_that_may_share_it(tmp_path: Path, towns: Path):
    first = run(mock_config(tmp_path, towns))
    second = run(mock_config(tmp_path, towns, "mitigation=warn", "conditions=[tool_wrong,no_tool]"))
    assert first.manifest["about"]["memory"] == second.manifest["about"]["memory"]
    assert len(list((tmp_path / "memories").iterdir())) == 1
    assert second.manifest["counts"]["cached"] == 3, "no_tool reads the memory again"
    other = run(mock_config(tmp_path, towns, "formulation=paraA"))
    assert (
        other.manifest["about"]["memory"]["folder"] != first.manifest["about"]["memory"]["folder"]
    )


def test_without_the_arms_folder_the_cache_alone_gives_it_back(tmp_path: Path, towns: Path):
    first = run(mock_config(tmp_path, towns))
    before = results(first.folder)
    shutil.rmtree(first.folder)
    release()
    again = run(mock_config(tmp_path, towns))
    assert results(again.folder) == before
    counts = again.manifest["counts"]
    assert (counts["engine_loads"], counts["generated"]) == (0, 0)
    assert counts["cached"] == counts["distinct"]


def test_without_the_cache_a_finished_memory_still_answers_no_tool(tmp_path: Path, towns: Path):
    config = mock_config(tmp_path, towns, "conditions=[no_tool]")
    first = run(config)
    shutil.rmtree(tmp_path / "cache")
    shutil.rmtree(first.folder)
    release()
    again = run(config)
    assert again.manifest["counts"]["engine_loads"] == 0
    assert again.metrics == first.metrics


def test_a_finished_folder_that_has_lost_a_file_says_so(tmp_path: Path, towns: Path):
    first = run(mock_config(tmp_path, towns))
    (first.folder / "metrics.json").unlink()
    with pytest.raises(UserError, match=r"metrics\.json cannot be read"):
        run(mock_config(tmp_path, towns))


def test_a_finished_memory_that_has_lost_rows_says_so(tmp_path: Path, towns: Path):
    first = run(mock_config(tmp_path, towns))
    memory = Path(first.manifest["about"]["memory"]["folder"])
    (memory / "generations.jsonl").write_text("")
    with pytest.raises(UserError, match="has lost 3 of 3 rows"):
        run(mock_config(tmp_path, towns, "mitigation=warn"))


def test_a_reply_of_any_text_is_kept_to_the_letter(tmp_path: Path, towns: Path):
    texts = ["FINAL: a\u2028b", "\x85\x0c\x1c", "\r\n\r", "\x00", "x" * 300_000]
    for at, text in enumerate(texts):
        home = tmp_path / str(at)
        config = mock_config(home, towns, "conditions=[tool_wrong]")
        first = run({**config, "engine": {**config["engine"], "reply": text}})
        rows = read_jsonl(first.folder / "generations.jsonl")
        assert [item["text"] for item in rows] == [text] * 3
        memory = Path(first.manifest["about"]["memory"]["folder"])
        assert len(read_jsonl(memory / "memories.jsonl")) == 3


def test_questions_without_a_far_value_alone_give_an_arm_without_rows(tmp_path: Path):
    path = write_rows(tmp_path / "q.jsonl", [row("q1", "Bergen", "Stavanger")])
    result = run(mock_config(tmp_path, path, "conditions=[tool_wrong_far]"))
    assert result.metrics["rows"] == 0
    assert result.manifest["counts"]["skipped"] == {"tool_wrong_far": 1}
    assert all(r["denominator"] == 0 for r in result.metrics["matchers"]["boundary"]["rates"])


def test_the_metrics_file_is_plain_json(result: ArmResult):
    text = (result.folder / "metrics.json").read_text()
    assert "NaN" not in text
    assert json.loads(text) == result.metrics
