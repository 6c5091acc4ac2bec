import copy
import json
from pathlib import Path

import pytest
from support.arms import arm_of, compose_config, folders, prompt, requests_of, run

from harness.errors import UserError
from memtoc.episodes import sentinel_episodes
from memtoc.sources.released import FILES, benchmark, load

FIXTURE = Path(__file__).parent / "released"
CONTENT = {name: json.loads((FIXTURE / name).read_text("utf-8")) for name in FILES.values()}


def broken(folder, change, name="reference.json"):
    """The fixture with one file changed in place."""
    for file, original in CONTENT.items():
        content = copy.deepcopy(original)
        if file == name:
            change(content)
        (folder / file).write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_prompts_are_those_of_the_files_verbatim():
    release = load(FIXTURE)
    raw = CONTENT["paraphrase_a.json"]["episodes"]
    ours = [episode for episode in release.episodes if episode.formulation == "paraA"]
    assert [(e.closed_book, e.with_tool) for e in ours] == [
        (r["prompts"]["closed_book"], r["prompts"]["with_tool"]) for r in raw
    ]
    assert ours[0].question_id == "q7-0"
    assert [e.tool_correct for e in ours] == [r["tool_correct"] for r in raw]
    assert [e.tool_output for e in ours] == [r["tool_output"] for r in raw]


def test_what_was_read_is_counted():
    notes = load(FIXTURE).notes
    assert notes["episodes"] == {"ref": 5, "paraA": 5, "paraB": 4}
    assert notes["conditions"]["tool_wrong"] == 6
    assert (notes["questions"], notes["not_in_all_formulations"]) == (2, 1)
    assert set(notes["sha256"]) == set(FILES.values())
    assert load(FIXTURE, ["paraB"]).notes["episodes"] == {"paraB": 4}


def set_field(field, value):
    def change(content):
        row = content["episodes"][1]
        if value is KeyError:
            del row[field]
        else:
            row[field] = value

    return change


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("episode_id", None, "field 'episode_id' must be a number or a text"),
        ("instance_id", 1.5, "field 'instance_id' must be a number or a text"),
        ("hop_idx", True, "field 'hop_idx' must be a number or a text"),
        ("condition", "tool_wrongg", "field 'condition' is unknown ('tool_wrongg'): did you mean"),
        ("condition", 3, "field 'condition' must be a non-empty text"),
        ("family", "genealogie", "did you mean 'genealogy'"),
        ("question", "", "field 'question' must be a non-empty text"),
        ("gold_answer", ["x"], "field 'gold_answer' must be a non-empty text"),
        ("question", "Who\x00?", "field 'question' holds a control character"),
        ("gold_answer", "\u200b", "field 'gold_answer' shows nothing"),
        ("prompts", {"closed_book": "a\nb", "with_tool": "c\x07"},
         "field 'prompts.with_tool' holds a control character"),
        ("tool_output", KeyError, "field 'tool_output' is missing"),
        ("tool_correct", "yes", "field 'tool_correct' must be true, false or null"),
        ("tool_schema", {"name": "x"}, "field 'tool_schema' must hold a name and parameters"),
        ("tool_schema", None, "field 'tool_schema' must be an object"),
        ("prompts", "text", "field 'prompts' must be an object"),
        ("prompts", {"closed_book": "x"}, "field 'prompts.with_tool' must be a non-empty text"),
        ("provenance", [1], "field 'provenance' must be an object"),
        ("episode_id", CONTENT["reference.json"]["episodes"][0]["episode_id"], "stands twice"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_its_episode(tmp_path, field, value, message):
    with pytest.raises(UserError) as caught:
        load(broken(tmp_path, set_field(field, value)))
    assert message in str(caught.value)
    assert "reference.json" in str(caught.value) and "episode" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("question", "Another?"), ("gold_answer", "Another"), ("tool_output", "Another")],
)
def test_what_must_not_differ_between_formulations_may_not(tmp_path, field, value):
    folder = broken(tmp_path, set_field(field, value), "paraphrase_b.json")
    with pytest.raises(UserError, match=r"paraphrase_b\.json episode .* differs from"):
        load(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "'episodes' must be a list"),
        ('{"episodes": []}', "'episodes' must be a list with at least one"),
        ('{"episodes": [3]}', "episode 0: an object is needed"),
        ('{"episodes": [{}], "summary": 3}', "'summary' must be an object"),
        ("{", "not valid JSON"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, content, message):
    folder = broken(tmp_path, lambda _: None)
    (folder / "reference.json").write_text(content)
    with pytest.raises(UserError, match=message):
        load(folder)


def test_a_missing_file_and_an_unknown_formulation_are_named(tmp_path):
    with pytest.raises(UserError, match=r"reference\.json: No such file"):
        load(tmp_path)
    with pytest.raises(UserError, match="unknown formulation 'para': did you mean"):
        load(FIXTURE, ["para"])


def test_an_arm_asks_with_the_prompts_of_its_formulation_word_for_word(tmp_path):
    for formulation, name in FILES.items():
        config = released_config(tmp_path, f"formulation={formulation}")
        asked = {key: prompt(request) for key, request in requests_of(config).items()}
        rows = CONTENT[name]["episodes"]
        expected = {}
        for row in rows:
            identity = f"q{row['instance_id']}-{row['hop_idx']}"
            expected[identity, row["condition"]] = row["prompts"]["with_tool"]
            expected[identity, "memory"] = row["prompts"]["closed_book"]
            expected[identity, "no_tool"] = row["prompts"]["closed_book"]
        assert asked == expected


def released_config(tmp_path, *overrides):
    return compose_config(
        "benchmark=released",
        f"benchmark.path={FIXTURE}",
        "engine=mock",
        "tracker=none",
        *folders(tmp_path),
        *overrides,
    )


def test_an_arm_of_released_prompts_runs_and_counts_the_rows_it_lacks(tmp_path):
    result = run(released_config(tmp_path, "formulation=paraB"))
    skipped = result.manifest["counts"]["skipped"]
    assert skipped == {"tool_wrong_far": 2, "tool_error": 2, "noop": 2}
    assert result.manifest["about"]["benchmark"]["kept"] == 2


def test_what_the_prompts_have_settled_is_no_part_of_the_arm(tmp_path):
    plain, other = (
        arm_of(released_config(tmp_path, *settled))
        for settled in ((), ("layout=released", "payload=timeout", "clauses.judgement=false"))
    )
    assert plain.run.fingerprint == other.run.fingerprint


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["frame=passage"], "frame 'passage' cannot be shown"),
        (["mitigation=warn"], "mitigation 'warn' cannot be shown"),
        (["elicitation=open"], "elicitation 'open' cannot be asked for"),
        (["benchmark.formulations=[paraA]"], "formulation 'ref' is not among"),
    ],
)
def test_what_the_prompts_do_not_say_cannot_be_asked_for(tmp_path, overrides, message):
    with pytest.raises(UserError, match=message):
        arm_of(released_config(tmp_path, *overrides))


def test_the_template_audit_finds_the_words_of_a_release(tmp_path):
    sentinels = sentinel_episodes(arm_of(released_config(tmp_path)).settings)
    assert all(word in prompt(row.request) for row, words in sentinels for word in words)


def test_questions_without_a_near_value_are_left_out_and_counted(tmp_path):
    def change(content):
        content["episodes"] = [
            e for e in content["episodes"]
            if (e["instance_id"], e["hop_idx"], e["condition"]) != (7, 0, "tool_wrong")
        ]  # fmt: skip

    folder = broken(tmp_path, change)
    for name in ("paraphrase_a.json", "paraphrase_b.json"):
        content = copy.deepcopy(CONTENT[name])
        change(content)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    made = benchmark(load(folder))
    assert [q.id for q in made.questions] == [
        q.id for q in benchmark(load(FIXTURE)).questions if q.id != "q7-0"
    ]
    assert made.notes["left_out"] == 1


def test_a_wrong_value_with_a_control_character_is_refused(tmp_path):
    def change(content):
        for row in content["episodes"]:
            if row["condition"] == "tool_wrong":
                row["distractor"] = "Mod\x00ena"

    release = load(broken(tmp_path, change))
    with pytest.raises(UserError, match="under tool_wrong: the wrong value holds a control"):
        benchmark(release)


def test_two_closed_book_prompts_of_one_question_are_refused(tmp_path):
    def change(content):
        content["episodes"][1]["prompts"]["closed_book"] = "Another."

    with pytest.raises(UserError, match=r"reference.json episode .* differs from the question's"):
        benchmark(load(broken(tmp_path, change)))
