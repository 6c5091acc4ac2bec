"""User simulators on a model: what is said, what the history keeps, what each call costs."""

import threading
from collections.abc import Sequence

import pytest
from support.arms import command, options, read_jsonl
from support.playing import Says, arm_of, compose_taubench, evaluate

from factored.roles import Retries, Role, Usage
from factored.settings import TauBenchSettings, canonical, taubench_settings
from factored.taubench.simulator import GREETING, ModelUser, simulated
from factored.taubench.users import STOP
from harness.completions import Completion, Message, Request, failed
from harness.errors import UserError
from harness.fingerprint import cosmetic_keys, fingerprint, is_cosmetic, leaves
from harness.templates import fill

TASK = "You are Ann. You want to cancel rental R-1 because of {draft} rain."
KINDS = ("llm", "react", "verify", "reflection")
JUDGE, REFLECT = "one word: true or false", "what is wrong with it"
ORACLE = ("tool_agent=oracle", "engine@user.engine=mock", "pool.retries=0")


class Model:
    """Gives the texts in turn (None: a failure), and keeps what it was asked."""

    def __init__(self, texts: Sequence[str | None]) -> None:
        self.texts = list(texts)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        text = self.texts.pop(0)
        return failed("503 busy") if text is None else Completion(text, "stop", 100, 10)


def user_on(kind: str, *texts: str | None, **changes: object) -> tuple[ModelUser, Model]:
    config = compose_taubench(f"user={kind}")
    config["user"] |= {"price": {"prompt": 2.0, "completion": 8.0}, **changes}
    spec = taubench_settings(canonical(config)[0]).user
    model = Model(texts)
    retries = Retries(0, 0.0, threading.Event())
    role = Role("user", spec, model, retries, 0, "0/0", Usage())  # type: ignore[arg-type]
    return simulated(role, spec), model  # type: ignore[arg-type]


def content_of(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in request.messages[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_no_model_is_called_before_a_task_is_set(kind: str):
    user, model = user_on(kind, "Thought: x\nUser Response: Hello", "true")
    assert (model.asked, user.cost) == ([], 0.0)
    assert user.reset(TASK).endswith("Hello")
    system, greeting = model.asked[0].messages
    assert (system.role, greeting) == ("system", Message("user", GREETING))
    assert TASK in system.content, "a text that looks like a placeholder stays as it is"


@pytest.mark.parametrize(
    ("text", "said", "kept"),
    [
        ("Thought: I am angry.\nUser Response: Cancel it.", "Cancel it.", None),
        ("Thought: I am angry. User Response: Cancel it.", "Cancel it.", None),
        ("**Thought:** Hm.\n\n**User Response:** Cancel it.\nNow.", "Cancel it.\nNow.", None),
        ("thought: a\nTHOUGHT: b\nuser response: c", "c", None),
        ("User Response: c", "c", None),
        ("## Thought\nI am angry.\n## User Response\nCancel it.", "Cancel it.", None),
        ("Thank you for the user response time.", "Thank you for the user response time.", None),
        ("Thought: a\nResponse: c", "c", None),
        ("Cancel it.", "Cancel it.", None),
        ("I had a thought: cancel it.", "I had a thought: cancel it.", None),
        (
            "Thought: a\nUser Response: b\nThought: c\nUser Response: d",
            "b",
            "Thought: a\nUser Response: b",
        ),
        ("Thought: a\nUser Response:\nUser Response: d", "d", None),
        ("Thought: all is done\nUser Response: Thanks! ###STOP###", STOP, None),
        ("Thought: all is done ###STOP###", STOP, None),
        ("<think>###STOP###?</think>User Response: b", "b", "User Response: b"),
        ("I wonder ###STOP### not yet</think>\nUser Response: b", "b", "User Response: b"),
    ],
)  # fmt: skip
def test_a_react_user_says_its_response_and_never_a_thought(text: str, said: str, kept: str | None):
    user, model = user_on("react", text, "User Response: more")
    assert user.reset(TASK) == said
    if said != STOP:
        user.step("Why?")
        assert content_of(model.asked[1]) == [
            ("user", GREETING), ("assistant", kept or text), ("user", "Why?"),
        ]  # fmt: skip


def test_a_react_user_that_only_thinks_is_asked_again_and_then_has_nothing_to_say():
    user, model = user_on("react", "Thought: a", "Thought: a\nThought: b", "User Response: Hello")
    assert user.reset(TASK) == "Hello"
    assert len({request.seed for request in model.asked}) == 3
    assert all(content_of(request) == [("user", GREETING)] for request in model.asked)
    silent, model = user_on("react", *["Thought: a"] * 3)
    with pytest.raises(ValueError, match="empty line"):
        silent.reset(TASK)
    assert len(model.asked) == 3


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["A", "true"], "A"),
        (["A", "false", "B", "True."], "B"),
        (["A", "It is not true: false", "B", "no idea", "C"], "C"),
        (["", "B", "false, no: true"], "B"),
        (["A", "", "B", "untrue", "C"], "C"),
        (["Thanks! ###STOP###", "true"], STOP),
        (["Bye ###STOP###", "false", "B", "true"], "B"),
    ],
)
def test_a_verifying_user_says_the_first_draft_that_passes_or_else_the_last(texts, said):
    user, model = user_on("verify", *texts, "next", "true")
    assert user.reset(TASK) == said
    assert len(model.texts) == 2, "every text before was asked for"
    assert user.cost == pytest.approx(len(texts) * (2 * 100 + 8 * 10) / 1e6)
    user.step("Why?")
    drafted = model.asked[len(texts)]
    assert content_of(drafted) == [("user", GREETING), ("assistant", said), ("user", "Why?")]


def test_a_judge_reads_instruction_dialogue_and_draft():
    user, model = user_on("verify", "Hello {task}", "true", "Cancel R-1.", "true")
    user.reset(TASK)
    user.step("What do you want?")
    (judged,) = model.asked[3].messages
    assert judged.role == "user"
    assert TASK in judged.content
    dialogue = f"Agent: {GREETING}\nCustomer: Hello {{task}}\nAgent: What do you want?\n"
    assert dialogue in judged.content
    assert "Cancel R-1." in judged.content.split(dialogue)[1]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["A", "true"], "A"),
        (["A", "false", "Too rude.", "B", "true"], "B"),
        (["A", "false", "Too rude.", "B", "false"], "A"),
        (["A", "false", "Too rude.", "", ], "A"),
        (["", "B", "true"], "B"),
        (["", "B", "false"], "B"),
        (["A", "false", "Stop.", "So ###STOP###", "true"], STOP),
    ],
)  # fmt: skip
def test_a_reflecting_user_says_a_draft_that_passes_or_else_its_first(texts, said):
    user, model = user_on("reflection", *texts, "next", "true")
    assert user.reset(TASK) == said
    assert len(model.texts) == 2
    user.step("Why?")
    drafted = model.asked[len(texts)]
    assert content_of(drafted) == [("user", GREETING), ("assistant", said), ("user", "Why?")]


def test_a_reflection_stands_before_the_next_draft_and_leaves_the_history_alone():
    user, model = user_on("reflection", "A", "false", "Too rude.", "B", "true")
    user.reset(TASK)
    (reflected,) = model.asked[2].messages
    assert "A" in reflected.content and REFLECT in reflected.content
    greeting, draft, again = content_of(model.asked[3])
    assert (greeting, draft) == (("user", GREETING), ("assistant", "A"))
    assert again[0] == "user" and "Too rude." in again[1]


def test_more_drafts_or_fewer():
    user, model = user_on("verify", "A", drafts=1)
    assert user.reset(TASK) == "A"
    user, model = user_on("reflection", *["A", "false", "Hm."] * 3, "B", "true", drafts=4)
    assert user.reset(TASK) == "B"
    assert not model.texts


def test_a_user_without_a_word_is_an_error():
    for kind, calls in (("llm", 1), ("react", 3), ("verify", 3), ("reflection", 2)):
        user, model = user_on(kind, *["<think>Hm"] * calls)
        with pytest.raises(ValueError, match="empty line"):
            user.reset(TASK)
        assert not model.texts


def test_a_wording_is_filled_in_once():
    assert fill("{a} {b} {c} {}", a="{b}", b="\\1 {a}") == "{b} \\1 {a} {c} {}"


@pytest.mark.parametrize("kind", ["verify", "reflection"])
def test_trouble_of_the_judge_is_infrastructure_trouble(run_bikes, kind):
    user, _ = user_on(kind, "Hello", None)
    episode = run_bikes(Says("Hello"), user=user)
    assert (episode.ended, episode.reward) == ("infrastructure", None)
    assert "503 busy" in episode.error


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("verify", {"drafts": 0}, "user.drafts=0: give at least 1"),
        ("react", {"instruction": "Play!"}, "user.instruction: has no {task}"),
        ("verify", {"judge": "{transcript}?"}, "user.judge: has no {draft}"),
        ("reflection", {"again": "Again."}, "user.again: has no {reflection}"),
        ("llm", {"drafts": 2}, "user.drafts is not a setting"),
    ],
)
def test_a_setting_of_a_simulator_that_does_not_fit_is_named(kind, changes, words):
    with pytest.raises(UserError) as raised:
        user_on(kind, **changes)
    assert words in str(raised.value)


@pytest.mark.parametrize("kind", options("user"))
def test_every_setting_of_a_user_is_identity_or_declared_cosmetic(kind):
    config = compose_taubench(f"user={kind}")
    cosmetic = cosmetic_keys(TauBenchSettings)
    before = fingerprint(config, cosmetic, {})
    for key, value in leaves(config["user"]):
        changed = compose_taubench(f"user={kind}")
        *path, last = key.split(".")
        inner = changed["user"]
        for name in path:
            inner = inner[name]
        inner[last] = [value]
        differs = fingerprint(changed, cosmetic, {}) != before
        assert differs == (not is_cosmetic(f"user.{key}", cosmetic)), key


RULES = {
    "react": [{"contains": "User Response", "reply": "Thought: Hm.\nUser Response: Hello."}],
    "verify": [{"contains": JUDGE, "reply": "false"}],
    "reflection": [
        {"contains": JUDGE, "reply": "false"},
        {"contains": REFLECT, "reply": "Too long."},
        {"contains": "Too long.", "reply": "Shorter."},
    ],
}


@pytest.mark.parametrize(("kind", "calls"), [("react", 1), ("verify", 5), ("reflection", 5)])
def test_each_kind_plays_in_an_arm_and_all_its_calls_are_counted(outside, kind, calls):
    config = compose_taubench(*ORACLE, f"user={kind}", "domain.tasks=[4]", *outside)
    config["user"]["engine"] |= {"reply": "Hello.", "rules": RULES[kind]}
    config["user"]["price"] = {"prompt": 1.0, "completion": 1.0}
    result = evaluate(arm_of(config))
    (row,) = read_jsonl(result.folder / "generations.jsonl")
    users = [message["content"] for message in row["traj"] if message["role"] == "user"]
    assert set(users) == {"Hello."}
    usage = row["usage"]["user"]
    assert usage["calls"] == calls * len(users)
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    assert row["info"]["user_cost"] == pytest.approx(tokens / 1e6)


@pytest.mark.parametrize("kind", ["react", "verify", "reflection"])
def test_the_command_runs_each_kind_and_a_dry_run_shows_its_prompts(outside, tmp_path, kind):
    arguments = ("--config-name=taubench", *ORACLE, f"user={kind}", "domain.tasks=[4]", *outside)
    dry = command(*arguments, "tracker=none", "dry_run=true", cwd=tmp_path)
    assert dry.returncode == 0, dry.stderr
    wanted = {
        "react": ["User Response:"],
        "verify": [JUDGE, "{transcript}"],
        "reflection": [JUDGE, REFLECT, "{reflection}"],
    }
    for words in (*wanted[kind], "You are Tom Okoro"):
        assert words in dry.stdout
    done = command(*arguments, "tracker=none", "user.engine.reply=Hello", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 episodes ended" in done.stdout
