"""Every role on a server that misbehaves: what passes changes nothing, what stays is no failure."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.arms import read_jsonl
from support.chat_server import (
    CUT,
    TRANSIENT,
    Answer,
    Asked,
    ChatServer,
    MortalServer,
    chat_serving,
    error,
    faulty,
    of_json,
    said,
)
from support.entries import Entry
from support.playing import TauBenchResult, arm_of, compose_taubench, evaluate, form_of, metrics_of

from factored.call_checks import write_json_call
from factored.requests import parse_request
from factored.scripts import Script, domain_scripts
from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import EMBEDDED, load_domain
from factored.taubench.tasks import RESPOND, Action
from harness.errors import RunFailedError, UserError

ROLES = ("planner", "tool_agent", "user")
KINDS = ("factored", "faep", "native", "native_api", "react", "act")
TASKS = (0, 2, 4, 5)
SCRIPTS = domain_scripts(EMBEDDED / "bikes" / "scripts_test.json", 1)
BIKES: LoadedDomain = load_domain("bikes", EMBEDDED)


class Cast:
    """Plays all roles by the domain's scripts; which one is asked, the model's name says."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.form = form_of(kind)

    def __call__(self, asked: Asked) -> Answer:
        role = asked.body["model"]
        return {"planner": self.planner, "tool_agent": self.tool_agent, "user": self.user}[role](
            asked
        )

    def planner(self, asked: Asked) -> Answer:
        opening = asked.body["messages"][1]["content"]
        if is_probe(asked):
            return said("yes", usage=counted(asked))
        action = script_of(lambda _, script: script.user_lines[0] == opening).actions[turn(asked)]
        if self.kind != "native_api":
            assert "tools" not in asked.body
            return said(self.form.write(action))
        assert len(asked.body["tools"]) == len(BIKES.schemas)
        if action.name == RESPOND:
            return said(str(action.kwargs["content"]))
        return said(None, (action.name, json.dumps(dict(action.kwargs))))

    def tool_agent(self, asked: Asked) -> Answer:
        return said(write_json_call(parse_request(str(asked.last["content"]))))

    def user(self, asked: Asked) -> Answer:
        task = str(asked.body["messages"][0]["content"])
        script = script_of(lambda number, _: BIKES.tasks["test"][number].instruction in task)
        lines = [*script.user_lines, "###STOP###"]
        return said(lines[min(turn(asked), len(lines) - 1)])


def is_probe(asked: Asked) -> bool:
    return bool(asked.body["messages"][1]["content"] == "Is it there?")


def counted(asked: Asked, *swallowed: str) -> dict[str, int]:
    """Prompt tokens, a word each, as of a template that swallows some fields."""
    messages = [
        {key: value for key, value in message.items() if message["role"] not in swallowed}
        for message in asked.body["messages"]
    ]
    shown = {"messages": messages, "tools": asked.body["tools"]}
    shown = {key: value for key, value in shown.items() if key not in swallowed}
    return {"prompt_tokens": len(json.dumps(shown).split()), "completion_tokens": 1}


def script_of(fits: Callable[[int, Script], bool]) -> Script:
    (found,) = [script for (number, _), script in SCRIPTS.items() if fits(number, script)]
    return found


def turn(asked: Asked) -> int:
    return sum(message["role"] == "assistant" for message in asked.body["messages"])


def of_role(role: str, then: Callable[[Asked], Answer], other: Callable[[Asked], Answer]) -> Any:
    return lambda asked: then(asked) if asked.body["model"] == role else other(asked)


def settings(server: ChatServer, kind: str, *more: str) -> list[str]:
    """Overrides that put every role on a server."""
    roles = [role for role in ROLES if role != "tool_agent" or kind == "factored"]
    found = [
        f"agent={kind}",
        "planner=llm",
        "user=llm",
        f"domain.tasks=[{','.join(map(str, TASKS))}]",
    ]
    for role in roles:
        found += [
            f"engine@{role}.engine=openai",
            f"model@{role}.model=gpt-4o",
            f"{role}.engine.base_url={server.url}",
            f"{role}.engine.server=fake",
            f"{role}.engine.served={role}",
            f"{role}.engine.pause_s=0.0",
            f"{role}.engine.retries=2",
        ]
    return [*found, "user.decoding.temperature=0", "pool.workers=4", *more]


@contextmanager
def playing(
    answer: Callable[[Asked], Answer], kind: str, outside: list[str], *more: str
) -> Iterator[tuple[ChatServer, Callable[[], TauBenchResult]]]:
    with chat_serving(answer) as server:
        config = compose_taubench(*settings(server, kind, *more), *outside)
        yield server, lambda: evaluate(arm_of(config))


def rows_of(result: TauBenchResult) -> list[dict[str, Any]]:
    rows = read_jsonl(result.folder / "generations.jsonl")
    for row in rows:
        for counts in row["usage"].values():
            counts.pop("seconds")
    return rows


def apart(tmp_path: Path, name: str) -> list[str]:
    return [f"paths.runs={tmp_path / name / 'runs'}", f"paths.cache={tmp_path / name / 'cache'}"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_agent_kind_solves_its_tasks_on_servers_also_where_each_request_fails_twice(
    kind, tmp_path
):
    cast = Cast(kind)
    with playing(cast, kind, apart(tmp_path, "calm")) as (server, run):
        calm = run()
        asked = len(server.asked)
    assert metrics_of(calm)["pass"][0]["value"] == 1.0
    assert metrics_of(calm)["turns"]["punts"] == 0
    assert metrics_of(calm)["turns"]["calls"] > 0
    with playing(faulty(cast, CUT, TRANSIENT["429"]), kind, apart(tmp_path, "rough")) as (
        server,
        run,
    ):
        rough = run()
        assert len(server.asked) == 3 * asked
    assert rows_of(rough) == rows_of(calm)
    assert metrics_of(rough)["pass"] == metrics_of(calm)["pass"]


@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=TRANSIENT)
@pytest.mark.parametrize("role", ROLES)
def test_a_fault_of_any_role_that_passes_leaves_no_trace_in_the_result(role, fault, tmp_path):
    cast = Cast("factored")
    with playing(cast, "factored", apart(tmp_path, "calm")) as (_, run):
        calm = run()
    rough_cast = of_role(role, faulty(cast, fault), cast)
    with playing(rough_cast, "factored", apart(tmp_path, "rough")) as (_, run):
        assert rows_of(run()) == rows_of(calm)


@pytest.mark.parametrize("fault", [error(500), CUT, error(403), said("", finish="content_filter")])
@pytest.mark.parametrize("role", ROLES)
def test_a_fault_of_any_role_that_stays_is_stored_shown_and_retried_and_never_a_failure(
    role, fault, outside
):
    cast = Cast("factored")
    healed = threading.Event()
    hit = BIKES.tasks["test"][TASKS[1]]
    opening = SCRIPTS[TASKS[1], 0].user_lines[0]

    def of_the_task(asked: Asked) -> bool:
        if role == "tool_agent":  # it sees the request alone
            return "B-" in str(asked.last["content"])
        return hit.instruction in asked.prompt or opening in asked.prompt

    def answer(asked: Asked) -> Answer:
        ill = asked.body["model"] == role and of_the_task(asked) and not healed.is_set()
        return fault if ill else cast(asked)

    with playing(answer, "factored", outside, "report.max_error_rate=0.1") as (server, run):
        with pytest.raises(RunFailedError, match=rf"episodes have no result .*{role}: "):
            run()
        (folder,) = Path(outside[0].partition("=")[2]).iterdir()
        rows = {row["task_id"]: row for row in read_jsonl(folder / "generations.jsonl")}
        lost = {number for number, row in rows.items() if row["ended"] == "infrastructure"}
        assert TASKS[1] in lost or role == "tool_agent"
        assert 0 < len(lost) < len(TASKS)
        for number in lost:
            assert rows[number]["reward"] is None
            assert rows[number]["error"].startswith(f"{role}: ")
        assert all(rows[number]["reward"] == 1.0 for number in set(TASKS) - lost)
        healed.set()
        before = len(server.asked)
        result = run()
        assert len(server.asked) > before
    assert metrics_of(result)["pass"][0]["value"] == 1.0
    assert metrics_of(result)["ended"].get("infrastructure", 0) == 0


@pytest.mark.parametrize("role", ROLES)
def test_a_share_of_trouble_that_is_allowed_is_counted_apart_from_failures(role, outside):
    cast = Cast("factored")
    served = of_role(role, lambda _: error(500), cast)
    with playing(served, "factored", outside, "report.max_error_rate=1.0") as (_, run):
        result = run()
    assert metrics_of(result)["ended"] == {"infrastructure": len(TASKS)}
    assert metrics_of(result)["pass"][0]["value"] is None
    assert json.loads((result.folder / "results.json").read_text()) == []


@pytest.mark.parametrize("role", ["planner", "user"])
def test_a_dialogue_that_outgrows_the_planner_is_its_failure_and_the_user_s_is_trouble(
    role, outside
):
    long = error(400, "This model's maximum context length is 10 tokens", code=400)
    served = of_role(role, lambda _: long, Cast("factored"))
    with playing(served, "factored", outside, "report.max_error_rate=1.0") as (_, run):
        rows = rows_of(run())
    ended = {"planner": ("context", 0.0), "user": ("infrastructure", None)}[role]
    assert {(row["ended"], row["reward"]) for row in rows} == {ended}


@pytest.mark.parametrize("status", [500, 400])
def test_trouble_that_quotes_a_long_prompt_is_not_the_planner_s_failure(status, outside):
    quoted = error(status, f"cannot read {'x' * 200} prompt exceeds the context")
    served = of_role("planner", lambda _: quoted, Cast("factored"))
    with playing(served, "factored", outside, "report.max_error_rate=1.0") as (_, run):
        assert {row["ended"] for row in rows_of(run())} == {"infrastructure"}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("status", [401, 404])
def test_a_key_or_model_that_is_wrong_ends_the_run_and_stores_nothing_as_trouble(
    role, status, outside
):
    served = of_role(role, lambda _: error(status), Cast("factored"))
    with (
        playing(served, "factored", outside) as (_, run),
        pytest.raises(UserError, match=r"engine\.(key_variable|served)"),
    ):
        run()
    for path in Path(outside[0].partition("=")[2]).glob("*/generations.jsonl"):
        assert all(row["ended"] != "infrastructure" for row in read_jsonl(path))


def test_the_command_of_the_documentation_runs_every_role_on_a_server(entry: Entry):
    with chat_serving(Cast("factored")) as server:
        ended = entry("--config-name=taubench", "tracker=none", *settings(server, "factored"))
        shown = entry(
            "--config-name=taubench",
            "tracker=none",
            "dry_run=true",
            *settings(server, "native_api"),
        )
    assert ended.code == 0, ended.err
    assert "1.000" in ended.out
    assert shown.code == 0
    assert "tools, beside the planner's messages" in shown.out


def test_a_failed_server_is_shown_in_the_terminal(entry: Entry):
    with chat_serving(of_role("user", lambda _: error(500, "out of order"), Cast("act"))) as server:
        ended = entry("--config-name=taubench", "tracker=none", *settings(server, "act"))
    assert ended.code == 1
    assert "4 of 4 episodes have no result" in ended.err
    assert "user: HTTP 500: out of order" in ended.err


def native(*replies: Answer) -> Callable[[Asked], Answer]:
    """A planner that answers by turn, with the scripted user."""

    def answer(asked: Asked) -> Answer:
        if is_probe(asked):
            return said("yes", usage=counted(asked))
        return replies[min(turn(asked), len(replies) - 1)]

    return answer


def native_rows(outside: list[str], *replies: Answer) -> tuple[list[Asked], Mapping[str, Any]]:
    with chat_serving(native(*replies)) as server:
        overrides = settings(server, "native_api", "domain.tasks=[4]", "limits.steps=5")
        overrides = [
            text for text in overrides if not text.startswith(("user", "engine@user", "model@user"))
        ]
        result = evaluate(arm_of(compose_taubench(*overrides, *outside)))
        (row,) = rows_of(result)
        return [asked for asked in server.asked if not is_probe(asked)], row


def test_of_several_native_calls_the_first_is_run_and_told_back(outside):
    calls = [("get_member", '{"member_id": "M-101"}'), ("no_such_tool", "{}")]
    asked, row = native_rows(outside, said("One moment.", *calls), said("Done."))
    first = row["turns"][0]
    assert first["action"] == {"name": "get_member", "kwargs": {"member_id": "M-101"}}
    assert [call["name"] for call in first["calls"]] == ["get_member", "no_such_tool"]
    told, answer = asked[1].body["messages"][-2:]
    assert told["content"] == "One moment."
    assert [call["function"]["name"] for call in told["tool_calls"]] == ["get_member"]
    assert answer["role"] == "tool"
    assert answer["content"] == first["observation"]


@pytest.mark.parametrize(
    ("call", "error_kind", "told_as_call"),
    [
        (("get_member", '{"member_id": '), "malformed", False),
        (("get_member", "[1]"), "malformed", False),
        (("get_member", '{"member_id": NaN}'), "malformed", False),
        (("get_member", '{"member_id": 1e999}'), "malformed", False),
        (("get_member", '{}, "name": "x"}'), "malformed", False),
        (("get_member", "{}"), "missing_field", True),
        (("get_member", '{"member_id": 3}'), "wrong_type", True),
        (("no_such_tool", "{}"), "unknown_tool", True),
        (("functions.get member\u202e", "{}"), "unknown_tool", False),
        (("", "{}"), "unknown_tool", False),
        (("get_member", "[" * 50_000), "malformed", False),
    ],
)  # fmt: skip
def test_a_native_call_that_cannot_be_run_is_punted_and_the_dialogue_goes_on(
    outside, call, error_kind, told_as_call
):
    asked, row = native_rows(outside, said(None, call), said("35.5"))
    assert row["turns"][0]["punt"]["error"] == error_kind
    assert row["turns"][1]["action"]["name"] == RESPOND
    told, answer = asked[1].body["messages"][-2:]
    assert ("tool_calls" in told) is told_as_call
    assert answer["role"] == ("tool" if told_as_call else "user")
    assert answer["content"].startswith("Error: ")


@pytest.mark.parametrize(
    ("swallowed", "part"),
    [("tools", "schemas"), ("assistant", "arguments"), ("tool", "answer"), (None, None)],
)
def test_a_server_whose_template_swallows_tools_is_found_out_before_a_dialogue(
    outside, swallowed, part
):
    cast = Cast("native_api")

    def answer(asked: Asked) -> Answer:
        if not is_probe(asked):
            return cast(asked)
        return said("yes", usage=counted(asked, *([swallowed] if swallowed else [])))

    with playing(answer, "native_api", outside) as (server, run):
        if part is None:
            assert metrics_of(run())["pass"][0]["value"] == 1.0
            return
        with pytest.raises(UserError, match=rf"does not show it .*{part}.*agent=native"):
            run()
        assert all(is_probe(asked) for asked in server.asked)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            error(400, "auto tool choice requires --enable-auto-tool-choice"),
            "enable-auto-tool-choice",
        ),
        (said("yes", usage={"prompt_tokens": 0}), "counts no prompt tokens"),
    ],
)
def test_a_server_that_cannot_be_asked_for_tools_fails_the_run_in_its_own_words(
    outside, given, words
):
    with (
        playing(lambda _: given, "native_api", outside) as (_, run),
        pytest.raises(RunFailedError, match=words),
    ):
        run()


def test_a_native_call_that_the_server_left_in_the_text_is_found(outside):
    call = write_json_call(Action("get_member", {"member_id": "M-101"}))
    asked, row = native_rows(
        outside, said(f"Let me see.\n<tool_call>\n{call}\n</tool_call>"), said("35.5")
    )
    assert row["turns"][0]["action"]["name"] == "get_member"
    assert asked[1].body["messages"][-1]["role"] == "tool"


def test_a_run_that_is_stopped_leaves_no_request_behind(outside, monkeypatch):
    """Ctrl-C while servers are being asked ends the run at once, and the next one goes on."""
    import factored.pool

    never, arrived = threading.Event(), threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.body["model"] != "planner" or never.is_set():
            return Cast("factored")(asked)
        arrived.set()
        return Answer(b"", until=never)

    waits = factored.pool.as_completed

    def interrupted(futures: Any) -> Any:
        assert arrived.wait(20)
        raise KeyboardInterrupt

    with playing(answer, "factored", outside) as (_, run):
        monkeypatch.setattr(factored.pool, "as_completed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run()
        assert not never.is_set(), "the server was still busy when the run had ended"
        monkeypatch.setattr(factored.pool, "as_completed", waits)
        never.set()
        assert metrics_of(run())["pass"][0]["value"] == 1.0


def test_dialogues_go_side_by_side_and_none_waits_for_the_slowest(outside):
    together = threading.Barrier(3, timeout=20)

    def answer(asked: Asked) -> Answer:
        if asked.body["model"] == "user" and turn(asked) == 0:
            together.wait()  # passes only if three dialogues open at once
        return Cast("act")(asked)

    with playing(answer, "act", outside, "domain.tasks=[0,2,4]") as (_, run):
        assert metrics_of(run())["pass"][0]["value"] == 1.0


def edited(
    answer: Callable[[Asked], Answer], role: str, edit: Callable[[dict[str, Any]], None]
) -> Callable[[Asked], Answer]:
    """The same answers, those to a role with their JSON changed in place."""

    def changed(asked: Asked) -> Answer:
        content = json.loads(answer(asked).content)
        edit(content)
        return of_json(content)

    return of_role(role, changed, answer)  # type: ignore[no-any-return]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_without_text_or_tokens_is_trouble_and_no_turn_of_its_own(role, outside):
    nothing = said("", usage={"prompt_tokens": 9, "completion_tokens": 0})
    served = of_role(role, lambda _: nothing, Cast("factored"))
    with playing(served, "factored", outside, "report.max_error_rate=1.0") as (_, run):
        rows = rows_of(run())
    assert {row["ended"] for row in rows} == {"infrastructure"}
    assert {row["error"] for row in rows} == {f"{role}: the server gave neither text nor tokens"}


@pytest.mark.parametrize("role", ROLES)
def test_a_cold_start_of_any_role_leaves_no_trace_in_the_result(role, tmp_path):
    cast = Cast("factored")
    with playing(cast, "factored", apart(tmp_path, "calm")) as (_, run):
        calm = rows_of(run())
    cold = said(None, usage={"prompt_tokens": 9, "completion_tokens": 0})
    served = of_role(role, faulty(cast, cold), cast)
    with playing(served, "factored", apart(tmp_path, "cold")) as (_, run):
        assert rows_of(run()) == calm


def test_a_planner_whose_words_all_stand_in_its_reasoning_fails_the_arm_and_says_where(outside):
    hidden = said("", reasoning_content="Let me see.")
    served = of_role("planner", lambda _: hidden, Cast("factored"))
    with (
        playing(served, "factored", outside) as (_, run),
        pytest.raises(RunFailedError, match=r"of \d+ replies of the planner are empty"),
    ):
        run()
    with playing(served, "factored", outside, "report.max_empty_rate=1") as (_, run):
        result = run()
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert any("reasoning_content" in note for note in manifest["about"]["notes"])
    assert metrics_of(result)["usage"]["planner"]["beside"] > 0


@pytest.mark.parametrize("role", ROLES)
def test_a_thought_that_a_template_opened_is_left_out_of_any_role_s_words(role, tmp_path):
    cast = Cast("factored")
    with playing(cast, "factored", apart(tmp_path, "calm")) as (_, run):
        calm = run()

    def think(content: dict[str, Any]) -> None:
        message = content["choices"][0]["message"]
        message["content"] = f"Who is it? ###STOP###\n</think>\n\n{message['content']}"

    with playing(edited(cast, role, think), "factored", apart(tmp_path, "thinking")) as (_, run):
        result = run()
    assert metrics_of(result)["pass"] == metrics_of(calm)["pass"]
    assert [row["turns"] for row in rows_of(result)] == [row["turns"] for row in rows_of(calm)]
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert any(
        f"replies of the {role} hold </think>" in note for note in manifest["about"]["notes"]
    )


def test_usage_that_servers_leave_out_is_unknown_in_manifest_and_table(entry: Entry, tmp_path):
    def silent(content: dict[str, Any]) -> None:
        del content["usage"]

    cast = Cast("factored")
    for roles in (("planner",), ROLES):
        answer: Callable[[Asked], Answer] = cast
        for role in roles:
            answer = edited(answer, role, silent)
        folders = apart(tmp_path, f"{len(roles)}")
        prices = ("planner.price.prompt=2", "planner.price.completion=8")
        with chat_serving(answer) as server:
            ended = entry(
                "--config-name=taubench", "tracker=none", *settings(server, "factored"), *prices,
                *folders,
            )  # fmt: skip
        assert ended.code == 0, ended.err
        assert "unknown" in ended.out
        (folder,) = Path(folders[0].partition("=")[2]).iterdir()
        manifest = json.loads((folder / "manifest.json").read_text())
        counts = manifest["counts"]
        assert (counts["prompt_tokens"] is None) is (roles == ROLES)
        assert 0 < counts["without_usage"] <= counts["model_calls"]
        assert manifest["engines"]["planner"]["finish_reasons"]["stop"] > 0


def test_a_server_that_dies_in_a_dialogue_and_comes_back_leaves_no_trace(tmp_path, monkeypatch):
    cast = Cast("act")
    with playing(cast, "act", apart(tmp_path, "calm")) as (_, run):
        calm = rows_of(run())

    def answer(asked: Asked) -> Answer:
        if asked.number == 12 and not server.deaths:
            server.kill()
        return cast(asked)

    pauses = 0

    async def paused(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 5:  # beyond engine.retries
            server.start()

    server = MortalServer(answer)
    monkeypatch.setattr("harness.engines.openai.asyncio.sleep", paused)
    at = ChatServer(server.url, server.asked)
    try:
        config = compose_taubench(*settings(at, "act", "pool.workers=1"), *apart(tmp_path, "rough"))
        assert rows_of(evaluate(arm_of(config))) == calm
    finally:
        server.kill()
    assert server.deaths == 2
    assert pauses == 5


def test_a_server_that_dies_for_good_ends_the_run_and_keeps_whole_dialogues(outside):
    cast = Cast("act")
    alive = 25

    def answer(asked: Asked) -> Answer:
        if asked.number == alive:
            server.kill()
        return cast(asked)

    server = MortalServer(answer)
    at = ChatServer(server.url, server.asked)
    config = compose_taubench(*settings(at, "act", "pool.workers=1"), *outside)
    with pytest.raises(UserError, match="has gone and not come back"):
        evaluate(arm_of(config))
    (folder,) = Path(outside[0].partition("=")[2]).iterdir()
    kept = read_jsonl(folder / "generations.jsonl")
    assert kept
    assert all(row["reward"] == 1.0 for row in kept)
    server.start()
    result = evaluate(arm_of(config))
    server.kill()
    assert metrics_of(result)["pass"][0]["value"] == 1.0
    assert all(asked.again == 0 for asked in server.asked), "what was answered is not asked again"
