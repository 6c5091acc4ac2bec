"""A server that dies while it is being asked, and comes back or does not."""

from collections.abc import Callable
from threading import Event

import pytest
from support.asking import MODEL, ask, spec
from support.chat_server import CUT, Answer, Asked, MortalServer, chat_serving, error, said

from harness.completions import Completion
from harness.errors import UserError

PATIENT = {"pause_s": 1.0, "retries": 5}  # conf/engine/openai.yaml
MINUTE = 60.0


class Clock:
    """The pauses between tries, which pass at once; ``on`` is called with the sum after each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, on: Callable[[float], None]) -> None:
        self.now, self.pauses = 0.0, 0

        async def passed(seconds: float) -> None:
            self.now += seconds
            self.pauses += 1
            on(self.now)

        monkeypatch.setattr("harness.engines.openai.asyncio.sleep", passed)


def collect(url: str, into: dict[int, Completion], rows: int = 12, **changed: object) -> None:
    engine = spec(url, **{**PATIENT, **changed}).open(MODEL, None)
    try:
        for group in engine.run([ask(str(number)) for number in range(rows)], range(rows)):
            into.update(group)
    finally:
        engine.close()


def dying(at: int) -> MortalServer:
    """A server that is gone once it has answered this many requests."""

    def answer(asked: Asked) -> Answer:
        if asked.number == at and not server.deaths:
            server.kill()
        return said(asked.prompt)

    server = MortalServer(answer)
    return server


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_run_waits_a_minute_for_a_server_that_has_gone_and_goes_on(monkeypatch, concurrency):
    server, found = dying(5), dict[int, Completion]()
    # Pauses of requests side by side add up here, so that each has waited a minute.
    clock = Clock(monkeypatch, lambda now: now >= MINUTE * concurrency and server.start())  # type: ignore[arg-type,func-returns-value]
    try:
        collect(server.url, found, concurrency=concurrency)
    finally:
        server.kill()
    assert clock.now >= MINUTE * concurrency
    assert {index: reply.text for index, reply in found.items()} == {n: str(n) for n in range(12)}
    assert all(reply.status == "ok" for reply in found.values())


def test_a_server_that_does_not_come_back_ends_the_run_after_what_it_answered(monkeypatch):
    server, found = dying(5), dict[int, Completion]()
    clock = Clock(monkeypatch, lambda _: None)
    with pytest.raises(UserError, match=r"has gone and not come back .*same command again"):
        collect(server.url, found, rows=7, concurrency=1)
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    assert clock.pauses == 10
    assert clock.now >= 2 * MINUTE


def test_a_server_that_never_was_there_is_given_up_sooner(monkeypatch):
    server = MortalServer(lambda _: said("x"))
    server.kill()
    clock = Clock(monkeypatch, lambda _: None)
    with pytest.raises(UserError, match="cannot be reached"):
        collect(server.url, {}, rows=1)
    assert clock.pauses == 5


@pytest.mark.parametrize("stand_in", [*(error(s, "no upstream") for s in (502, 503, 504)), CUT])
def test_a_gateway_that_stands_in_for_a_lost_server_is_waited_for_as_long(monkeypatch, stand_in):
    found: dict[int, Completion] = {}
    clock = Clock(monkeypatch, lambda _: None)

    def answer(asked: Asked) -> Answer:
        gone = asked.number >= 3 and clock.now < MINUTE
        return stand_in if gone else said(asked.prompt)

    with chat_serving(answer) as server:
        collect(server.url, found, concurrency=1)
    assert clock.now >= MINUTE
    assert all(reply.status == "ok" for reply in found.values())


def test_a_gateway_that_answers_others_is_not_waited_for(monkeypatch):
    found: dict[int, Completion] = {}
    clock = Clock(monkeypatch, lambda _: None)
    others_answered = Event()

    def answer(asked: Asked) -> Answer:
        if asked.prompt != "11":
            if asked.prompt == "20":  # the other of two slots has had the answers to 12 and on
                others_answered.set()
            return said(asked.prompt)
        if clock.pauses:
            assert others_answered.wait(30)
        return error(503, "not for you")

    with chat_serving(answer) as server:
        collect(server.url, found, concurrency=2, retries=1, rows=40)
    assert found[11].error == "HTTP 503: not for you (tried 2 times)"
    assert sum(reply.status == "ok" for reply in found.values()) == 39
    assert clock.pauses == 1


def test_a_server_that_comes_back_cold_is_asked_again_within_its_tries(monkeypatch):
    nothing = said("", usage={"prompt_tokens": 7, "completion_tokens": 0})
    found: dict[int, Completion] = {}

    def answer(asked: Asked) -> Answer:
        if 1 <= asked.number <= 10:
            return error(503, "loading")
        return nothing if asked.number == 11 else said(asked.prompt)

    Clock(monkeypatch, lambda _: None)
    with chat_serving(answer) as server:
        collect(server.url, found, rows=2, concurrency=1)
    assert found[1].unanswered, "the eleventh try is the last"
    assert len(server.asked) == 12
