"""The engine for chat-completion servers, against a fake one that misbehaves by script."""

import base64
import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import quote

import pytest
from support.asking import MODEL, TOOL, ask, completions, spec
from support.chat_server import (
    CUT,
    EMPTY,
    GARBAGE,
    TRANSIENT,
    Answer,
    Asked,
    ChatServer,
    chat_serving,
    error,
    faulty,
    of_json,
    said,
)
from support.servers import serving

from harness.cache import cache_key
from harness.completions import Completion, Decoding, Message, Request, ToolCall
from harness.engines.openai import OpenAiEngine
from harness.errors import UserError
from harness.generation import Backend
from harness.models import ModelSpec

KEY = "sk-Secret/0+1=2"
SAMPLED = Decoding("sampled", 0.7, 16)


def one(server: ChatServer, request: Request | None = None, **changed: Any) -> Completion:
    engine = spec(server.url, **changed).open(MODEL, None)
    (completion,) = completions(engine, request or ask("Who?"))
    return completion


def always(answer: Answer) -> Callable[[Asked], Answer]:
    return lambda _: answer


def refused(server: ChatServer, **changed: Any) -> str:
    with pytest.raises(UserError) as raised:
        one(server, **changed)
    line = str(raised.value)
    assert line.isprintable()
    assert len(line) < 700
    return line


def test_a_request_carries_messages_and_decoding_and_a_reply_its_text_and_tokens():
    talk = (Message("system", "Be brief."), Message("user", "Who?"))
    with chat_serving(always(said("She."))) as server:
        found = one(server, Request(talk, SAMPLED, ("\n", "Q:"), seed=11))
    assert found == Completion("She.", "stop", 7, 3)
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
        ],
        "max_tokens": 16,
        "temperature": 0.7,
        "seed": 11,
        "stop": ["\n", "Q:"],
        "stream": False,
    }
    assert "Authorization" not in asked.headers


def test_what_the_server_does_not_take_is_not_sent_and_more_fields_are():
    with chat_serving(always(said("One\nTwo"))) as server:
        found = one(
            server,
            ask("Who?", SAMPLED, stop=("\n",), seed=11),
            takes=[],
            length_field="max_completion_tokens",
            extra={"reasoning_effort": "low", "top_p": 0.9},
            served="gpt-5",
        )
    body = dict(server.asked[0].body)
    assert not {"seed", "stop", "temperature", "max_tokens"} & set(body)
    assert (body["max_completion_tokens"], body["model"]) == (16, "gpt-5")
    assert (body["reasoning_effort"], body["top_p"]) == ("low", 0.9)
    assert found.text == "One", "a stop that is not sent is cut here"


def test_greedy_requests_have_no_seed():
    with chat_serving(always(said("She."))) as server:
        one(server)
    assert "seed" not in server.asked[0].body


def test_the_model_s_name_is_the_served_one_or_the_hub_s_or_its_own():
    named = ModelSpec("qwen", "chat", "keep", False, hub="Qwen/Qwen2.5-7B-Instruct")
    assert spec("http://127.0.0.1:1/v1").served_name(MODEL) == "small"
    assert spec("http://127.0.0.1:1/v1").served_name(named) == "Qwen/Qwen2.5-7B-Instruct"
    assert spec("http://127.0.0.1:1/v1", served="mine").served_name(named) == "mine"


def test_a_model_without_a_system_role_gets_the_system_text_in_its_first_user_turn():
    folds = ModelSpec("small", "chat", "fold", False)
    talk = (Message("system", "Be brief."), Message("user", "Who?"))
    with chat_serving(always(said("She."))) as server:
        completions(spec(server.url).open(folds, None), Request(talk, SAMPLED))
    assert server.asked[0].body["messages"] == [{"role": "user", "content": "Be brief.\n\nWho?"}]


def test_arguments_of_the_template_go_along_or_are_refused():
    dated = ModelSpec("small", "chat", "keep", False, template={"date_string": "26 Jul 2024"})
    more = {"chat_template_kwargs": {"enable_thinking": False}}
    with chat_serving(always(said("She."))) as server:
        completions(spec(server.url, extra=more).open(dated, None), ask("Who?"))
        with pytest.raises(UserError, match=r"add template to engine\.takes"):
            spec(server.url, takes=["stop"]).open(dated, None)
    sent = server.asked[0].body["chat_template_kwargs"]
    assert sent == {"date_string": "26 Jul 2024", "enable_thinking": False}


def test_a_schema_goes_out_as_a_response_format_or_is_refused():
    request = ask("Who?", schema='{"type": "object"}')
    with chat_serving(always(said("{}"))) as server:
        one(server, request)
        one(server, request, schemas="lenient")
        strict, lenient = (asked.body["response_format"] for asked in server.asked)
        with pytest.raises(UserError, match=r"engine\.schemas=none"):
            one(server, request, schemas="none")
    assert strict["type"] == "json_schema"
    assert strict["json_schema"]["schema"] == {"type": "object"}
    assert strict["json_schema"]["strict"] is True
    assert "strict" not in lenient["json_schema"]


def test_a_base_checkpoint_is_refused():
    with pytest.raises(UserError, match="base checkpoint"):
        spec("http://127.0.0.1:1/v1").open(ModelSpec("b", "base", "keep", False), None)


@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=TRANSIENT)
def test_what_passes_is_tried_again_and_what_stays_is_an_error_and_no_text(fault):
    replies = faulty(lambda asked: said(asked.prompt.upper()), fault, fault)
    with chat_serving(replies) as server:
        found = completions(spec(server.url).open(MODEL, None), ask("a"), ask("b"))
    assert [reply.text for reply in found] == ["A", "B"]
    assert len(server.asked) == 6
    with chat_serving(always(fault)) as server:
        lost = one(server)
    assert (lost.status, lost.text) == ("error", "")
    assert lost.error is not None
    assert lost.error.isprintable()
    assert lost.error.endswith("(tried 3 times)")
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (error(400, "bad temperature"), "HTTP 400: bad temperature"),
        (error(403, "not in your country"), "HTTP 403: not in your country"),
        (of_json({"object": "error", "message": "no such field"}, 422), "HTTP 422: no such field"),
        (of_json({"error": "plain words"}, 400), "HTTP 400: plain words"),
        (Answer(b"nginx", 413), "HTTP 413: nginx"),
        (said("", finish="content_filter"), "content filter"),
        (said("", ("find", "{}")), "no tool was offered"),
    ],
)
def test_what_the_server_refuses_is_asked_once(fault, words):
    with chat_serving(always(fault)) as server:
        found = one(server)
    assert found.status == "error"
    assert words in str(found.error)
    assert not found.context_exceeded
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (error(401), r"OUR_KEY"),
        (error(404, "The model `small` does not exist"), r"no model 'small'.*engine\.served"),
        (Answer(b"404 page not found", 404), r"up to and with /v1"),
        (error(402), r"nothing left"),
        (error(429, "You exceeded your quota", code="insufficient_quota"), r"nothing left"),
        (error(308, Location="http://elsewhere.example/v1"), r"redirects.*engine\.base_url"),
        (of_json({"error": {"message": "no endpoints", "code": 404}}), r"no model 'small'"),
    ],
)
def test_what_no_request_would_be_spared_ends_the_run_in_a_line(fault, words, monkeypatch):
    monkeypatch.setenv("OUR_KEY", KEY)
    with chat_serving(always(fault)) as server:
        line = refused(server, key_variable="OUR_KEY")
    assert len(server.asked) == 1
    assert re.search(words, line), line


def test_a_server_that_wants_a_key_where_none_is_named_says_which_setting_names_it():
    with chat_serving(always(error(401))) as server:
        assert "engine.key_variable" in refused(server)


def test_a_server_that_is_not_there_is_named():
    with chat_serving(always(said("x"))) as server:
        gone = server
    line = refused(gone, retries=1)
    assert "cannot be reached" in line
    assert "engine.base_url" in line


@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
@pytest.mark.parametrize("key", [KEY, 'a"b\\c-123456', "sk-" + "x" * 200])
def test_no_error_holds_the_key_however_the_server_echoes_it(key, status, monkeypatch):
    monkeypatch.setenv("OUR_KEY", key)

    def echo(asked: Asked) -> Answer:
        sent = asked.headers["Authorization"]
        assert sent == f"Bearer {key}"
        texts = [sent, quote(sent), quote(sent, safe=""), " " * 290 + sent, sent * 50]
        texts += [f"{'x' * 299}{sent[:20]}", sent[:-3]]
        bodies = [json.dumps({"error": {"message": text}}).encode() for text in texts]
        bodies += [text.encode() for text in texts]
        bodies += [json.dumps({"detail": texts}).encode()]
        return Answer(bodies[asked.number % len(bodies)], status)

    with chat_serving(echo) as server:
        for _ in range(15):
            try:
                line = str(one(server, key_variable="OUR_KEY", retries=0).error)
            except UserError as raised:
                line = str(raised)
            assert line.isprintable()
            for form in (key, quote(key), json.dumps(key)[1:-1]):
                assert form[:12] not in line, line


def test_an_error_text_is_short_and_steers_no_terminal():
    nasty = "\x1b[2J\n\r\u202eevil\x00 " + "x" * 10_000
    with chat_serving(always(error(400, nasty))) as server:
        found = str(one(server).error)
    assert found.isprintable()
    assert len(found) < 400
    assert "\\x1b[2J" in found


def test_a_redirect_is_not_followed_and_takes_no_key_along(monkeypatch):
    monkeypatch.setenv("OUR_KEY", KEY)
    with chat_serving(always(said("stolen"))) as other:
        away = error(307, Location=f"{other.url}/chat/completions")
        with chat_serving(always(away)) as server:
            refused(server, key_variable="OUR_KEY")
    assert other.asked == []


def test_answers_of_any_size_are_not_read_to_their_end():
    with chat_serving(always(said("x" * 100_000))) as server:
        found = one(server, max_bytes=50_000)
    assert found.error == "the answer has over 50000 bytes"
    assert len(server.asked) == 1


def test_a_compressed_answer_is_not_unpacked():
    packed = Answer(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    with chat_serving(always(packed)) as server:
        assert "compressed" in str(one(server, retries=0).error)
    assert server.asked[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("body", ["[]", "null", "3", "[" * 100_000, '{"choices": 1}', "9" * 5000])
def test_json_that_is_no_answer_is_an_error(body):
    with chat_serving(always(Answer(body.encode()))) as server:
        assert one(server, retries=0).status == "error"


@pytest.mark.parametrize(
    "message",
    [
        {"content": 3},
        {"content": None, "tool_calls": {"a": 1}},
        {"content": None, "tool_calls": [1]},
        {"content": None, "tool_calls": [{"function": {"arguments": "{}"}}]},
        {"content": None, "tool_calls": [{"function": {"name": ["x"]}}]},
    ],
)
def test_a_message_of_another_shape_is_an_error(message):
    shaped = of_json({"choices": [{"message": message, "finish_reason": "stop"}]})
    with chat_serving(always(shaped)) as server:
        assert one(server, ask("Who?", tools=(TOOL,)), retries=0).status == "error"


def test_an_answer_that_never_comes_or_comes_in_drips_meets_the_deadline():
    never = threading.Event()
    slow = {"never": Answer(b"", until=never), "drips": Answer(b" " * 10_000, drip=0.02)}
    try:
        for answer in slow.values():
            with chat_serving(always(answer)) as server:
                assert one(server, timeout_s=0.3, retries=0).error == (
                    "no answer within 0.3 s (tried 1 times)"
                )
    finally:
        never.set()


def test_retry_after_is_waited_for_within_bounds_and_pauses_double(monkeypatch):
    waits: list[float] = []

    async def slept(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("harness.engines.openai.asyncio.sleep", slept)
    far = "Fri, 31 Dec 2999 23:59:59 GMT"
    asked = ["7", "1e99", far, "nan", "-5", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"]
    faults = [error(429, Retry_After=value) for value in asked]
    with chat_serving(faulty(always(said("She.")), *faults)) as server:
        assert one(server, retries=7, pause_s=1.0).text == "She."
    assert waits[:3] == [7.0, 300.0, 300.0]
    assert all(2**at / 2 <= wait <= 2**at for at, wait in enumerate(waits[3:6], start=3))
    assert 30 <= waits[6] <= 60


def test_requests_go_side_by_side_up_to_the_bound():
    together = threading.Barrier(3, timeout=20)
    counting = threading.Lock()
    now = most = 0

    def answer(asked: Asked) -> Answer:
        nonlocal now, most
        with counting:
            now += 1
            most = max(most, now)
        together.wait()  # passes only if three are here at once
        with counting:
            now -= 1
        return said(asked.prompt)

    with chat_serving(answer) as server:
        engine = spec(server.url, concurrency=3).open(MODEL, None)
        found = completions(engine, *(ask(str(number)) for number in range(12)))
    assert [reply.text for reply in found] == [str(number) for number in range(12)]
    assert most == 3


def test_completions_are_given_as_they_come():
    first_is_kept = threading.Event()

    def answer(asked: Asked) -> Answer:
        late = first_is_kept if asked.prompt == "late" else None
        return Answer(said(asked.prompt).content, until=late)

    with chat_serving(answer) as server:
        engine = spec(server.url).open(MODEL, None)
        groups = engine.run([ask("late"), ask("soon")], {0, 1})
        assert {index: reply.text for index, reply in next(groups).items()} == {1: "soon"}
        first_is_kept.set()
        assert {index: reply.text for index, reply in next(groups).items()} == {0: "late"}
        engine.close()


def test_closing_ends_what_is_on_its_way_and_what_waits():
    never, arrived = threading.Event(), threading.Event()

    def answer(_: Asked) -> Answer:
        arrived.set()
        return Answer(b"", until=never)

    ended: list[type[BaseException]] = []

    def run(engine: OpenAiEngine) -> None:
        try:
            list(engine.run([ask("a"), ask("b")], {0, 1}))
        except CancelledError as cancelled:
            ended.append(type(cancelled))

    with chat_serving(answer) as server:
        engine = spec(server.url, concurrency=1, timeout_s=600.0).open(MODEL, None)
        runs = [threading.Thread(target=run, args=(engine,)) for _ in range(2)]
        for thread in runs:
            thread.start()
        assert arrived.wait(20)
        engine.close()
        for thread in runs:
            thread.join(20)
        never.set()
    assert ended == [CancelledError, CancelledError]
    assert len(server.asked) == 1


def test_runs_that_are_left_ask_no_more_and_leave_room_for_the_next():
    """Whatever moment a request is cancelled at, its place is free again."""
    with chat_serving(lambda asked: said(asked.prompt)) as server:
        for _ in range(60):
            engine = spec(server.url, concurrency=1, timeout_s=5.0).open(MODEL, None)
            groups = engine.run([ask(str(number)) for number in range(200)], range(200))
            next(groups)
            groups.close()  # type: ignore[attr-defined]
            (after,) = completions(engine, ask("after"))
            assert after.text == "after"
        assert len(server.asked) < 60 * 200


def test_reasoning_is_never_part_of_the_text():
    thoughts = {"reasoning_content": "hmm", "reasoning": "hmm"}
    parts = [{"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "She."}]
    with chat_serving(always(said("She.", **thoughts))) as server:
        assert one(server).text == "She."
    with chat_serving(always(of_json({
        "choices": [{"message": {"content": parts}, "finish_reason": "stop"}]
    }))) as server:  # fmt: skip
        assert one(server).text == "She."


def test_the_finish_reason_decides_the_status():
    with chat_serving(always(said("She wa", finish="length"))) as server:
        assert one(server).status == "truncated"
    with chat_serving(always(said(None, finish="length"))) as server:
        assert one(server).status == "truncated"
    with chat_serving(always(said(""))) as server:
        assert one(server).status == "empty"
    with chat_serving(always(said(None, refusal="I cannot say."))) as server:
        assert one(server).text == "I cannot say."


def test_halves_of_characters_become_whole_ones():
    with chat_serving(always(said("a\ud800b \U0001f600"))) as server:
        assert one(server).text == "a\ufffdb \U0001f600"
        assert one(server, ask("half \udfff")).status == "ok"


def test_tools_go_out_and_calls_come_back_as_the_model_wrote_them():
    calls = [("find", '{"a": 1}'), ("no such tool", '{"a": '), ("find", ""), ("find", {"a": 1})]
    with chat_serving(always(said("Let me see.", *calls))) as server:
        found = one(server, ask("Who?", tools=(TOOL,)))
    assert server.asked[0].body["tools"] == [json.loads(TOOL)]
    assert found.text == "Let me see."
    assert found.status == "ok"
    assert found.calls == (
        ToolCall("find", '{"a": 1}'),
        ToolCall("no such tool", '{"a": '),
        ToolCall("find", "{}"),
        ToolCall("find", '{"a": 1}'),
    )
    with chat_serving(always(said(None, ("find", "{}")))) as server:
        assert one(server, ask("Who?", tools=(TOOL,))).status == "ok", "no text is no empty reply"


def test_calls_and_answers_go_out_as_turns_that_know_each_other():
    talk = (
        Message("user", "Who?"),
        Message("assistant", "", ToolCall("find", '{"a": 1}')),
        Message("tool", "She."),
        Message("assistant", "Again.", ToolCall("find", '{"a": 1}')),
        Message("tool", "Still she."),
    )
    with chat_serving(always(said("She."))) as server:
        one(server, Request(talk, SAMPLED, tools=(TOOL,)))
    _, first, answer, second, again = server.asked[0].body["messages"]
    (call,) = first["tool_calls"]
    assert (first["role"], first["content"]) == ("assistant", None)
    assert call["function"] == {"name": "find", "arguments": '{"a": 1}'}
    assert answer == {
        "role": "tool", "tool_call_id": call["id"], "name": "find", "content": "She."
    }  # fmt: skip
    assert len(call["id"]) == 9
    assert call["id"].isalnum()
    assert again["tool_call_id"] == second["tool_calls"][0]["id"] != call["id"]
    assert second["content"] == "Again."


@pytest.mark.parametrize(
    "fault",
    [
        error(400, "No.", code="context_length_exceeded"),
        error(400, "This model's maximum context length is 4096 tokens. However, you asked"),
        error(400, "'max_tokens' is too large: 512. This model's maximum context length is 4096"),
        error(400, "the request exceeds the available context size", type="exceed_context_size"),
        of_json(
            {"object": "error", "message": "The decoder prompt (length 9) is longer than the"
             " maximum model length of 8."}, 400,
        ),
    ],
)  # fmt: skip
def test_a_prompt_beyond_the_context_is_told_from_other_errors(fault):
    with chat_serving(always(fault)) as server:
        found = one(server)
    assert found.context_exceeded
    assert found.status == "error"
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 422, 500, 503])
def test_an_error_that_quotes_the_prompt_does_not_pass_for_a_long_prompt(status):
    quoted = "prompt exceeds the context, maximum context length, context_length_exceeded"
    padded = f"invalid input: {'x' * 200} {quoted}"
    with chat_serving(always(error(status, padded if status < 500 else quoted))) as server:
        assert not one(server, retries=0).context_exceeded


@pytest.mark.parametrize(
    "changed",
    [
        {"base_url": "x"},
        {"base_url": "ftp://127.0.0.1/v1"},
        {"base_url": "http://[::1/v1"},
        {"base_url": "http://127.0.0.1:port/v1"},
        {"base_url": "http://127.0.0.1:99999/v1"},
        {"base_url": "http://ann:secret@127.0.0.1/v1"},
        {"base_url": "http://127.0.0.1/v1?key=secret"},
        {"key_variable": "sk-secret"},
        {"extra": {"messages": []}},
        {"extra": {"temperature": 1}},
    ],
)
def test_settings_that_cannot_be_meant_are_refused_without_showing_a_secret(changed):
    given = spec("http://127.0.0.1:1/v1", **changed)
    for use in (given.identity, lambda: given.open(MODEL, None)):
        with pytest.raises(UserError, match="engine") as raised:
            use()
        assert "secret" not in str(raised.value)


def test_a_key_that_is_missing_or_no_key_is_refused(monkeypatch):
    monkeypatch.delenv("OUR_KEY", raising=False)
    given = spec("http://127.0.0.1:1/v1", key_variable="OUR_KEY")
    with pytest.raises(UserError, match="OUR_KEY is not set"):
        given.open(MODEL, None)
    for bad in ("two words", "l\u00f6sung", "two\nlines"):
        monkeypatch.setenv("OUR_KEY", bad)
        with pytest.raises(UserError, match="OUR_KEY") as raised:
            given.open(MODEL, None)
        assert bad not in str(raised.value)
    monkeypatch.setenv("OUR_KEY", f"{KEY}\n")
    with chat_serving(always(said("She."))) as server:
        one(server, key_variable="OUR_KEY")
    assert server.key_headers() == [f"Bearer {KEY}"]


def test_a_proxy_of_the_environment_is_used_except_for_this_machine(monkeypatch):
    with chat_serving(always(said("by proxy"))) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with chat_serving(always(said("direct"))) as server:
            assert one(server).text == "direct"
        away = ChatServer("http://models.example/v1", [])
        assert one(away).text == "by proxy"
    assert [asked.path for asked in proxy.asked] == ["http://models.example/v1/chat/completions"]


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch):
    for name in ("ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "gopher://127.0.0.1:1")
    with pytest.raises(UserError, match="ALL_PROXY"):
        spec("http://models.example/v1").open(MODEL, None)


def key_of(model: ModelSpec = MODEL, **changed: Any) -> str:
    given = {"server": "ours", **changed}
    backend = Backend(spec(given.pop("base_url", "http://127.0.0.1:1/v1"), **given), model, None)
    return cache_key(ask("Who?"), backend.weights, backend.semantics())


def test_what_decides_a_text_is_part_of_the_cache_key_and_nothing_else_is():
    same: list[Mapping[str, Any]] = [
        {"base_url": "http://127.0.0.1:2/v1"}, {"key_variable": "OUR_KEY"}, {"concurrency": 1},
        {"timeout_s": 1.0}, {"retries": 0}, {"pause_s": 9.0}, {"max_bytes": 5},
    ]  # fmt: skip
    other: list[Mapping[str, Any]] = [
        {"server": "theirs"}, {"served": "large"}, {"takes": ["stop"]}, {"schemas": "none"},
        {"length_field": "max_completion_tokens"}, {"extra": {"top_p": 0.5}},
        {"model": ModelSpec("small", "chat", "keep", False, hub="a/b")},
        {"model": ModelSpec("small", "chat", "fold", False)},
    ]  # fmt: skip
    keys = [key_of(**changed) for changed in other]
    assert {key_of(**changed) for changed in same} == {key_of()}
    assert len({*keys, key_of()}) == len(other) + 1


def test_neither_settings_nor_engine_show_the_key(monkeypatch):
    monkeypatch.setenv("OUR_KEY", KEY)
    given = spec("http://127.0.0.1:1/v1", key_variable="OUR_KEY")
    engine = given.open(MODEL, None)
    shown = f"{given!r} {engine!r} {given.identity()} {Backend(given, MODEL, None)!r}"
    engine.close()
    engine.close()
    assert KEY not in shown
    assert base64.b64encode(KEY.encode()).decode() not in shown


def test_a_server_of_another_protocol_is_an_error():
    class Raw(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.wfile.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")

    with serving(Raw) as address:
        found = one(ChatServer(f"{address}/v1", []), retries=0)
    assert found.status == "error"
    assert "connection broke" in str(found.error)


def test_one_bad_request_among_good_ones_spoils_no_other():
    faults = {"1": CUT, "2": GARBAGE, "3": EMPTY, "4": error(400)}

    def answer(asked: Asked) -> Answer:
        return faults.get(asked.prompt, said(asked.prompt))

    with chat_serving(answer) as server:
        found = completions(spec(server.url).open(MODEL, None), *(ask(str(n)) for n in range(8)))
    assert [reply.status == "error" for reply in found] == [0 < n < 5 for n in range(8)]


@pytest.mark.parametrize("fault", [error(500, "on fire"), error(400, "no such field")])
def test_a_server_that_fails_everything_is_not_asked_everything(fault):
    with chat_serving(always(fault)) as server:
        engine = spec(server.url, retries=0, concurrency=4).open(MODEL, None)
        with pytest.raises(UserError, match=r"one request after another .*HTTP") as raised:
            completions(engine, *(ask(str(number)) for number in range(1000)))
    assert str(raised.value).isprintable()
    assert len(server.asked) < 60


def test_failures_between_answers_and_long_prompts_end_no_run():
    long = error(400, "maximum context length is 8 tokens")

    def some(asked: Asked) -> Answer:
        return said("x") if int(asked.prompt) % 10 == 0 else error(500)

    for answer in (some, always(long)):
        with chat_serving(answer) as server:
            engine = spec(server.url, retries=0, concurrency=2).open(MODEL, None)
            found = completions(engine, *(ask(str(number)) for number in range(100)))
        assert len(found) == 100
