"""Episodes: steps, endings, rewards, and that no episode sees another."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from factored.taubench.environment import Environment, score
from factored.taubench.loading import load_domain
from factored.taubench.tasks import Action, Task
from factored.taubench.tools import EpisodeCrashError
from factored.taubench.users import STOP, RecordedUser, ScriptedUser

CANCEL = Action("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
RETURN = Action(
    "return_delivered_order_items",
    {"order_id": "#W2", "item_ids": ["10"], "payment_method_id": "paypal_1"},
)
TRANSFER = Action("transfer_to_human_agents", {"summary": "s"})


def say(text):
    return Action("respond", {"content": text})


def task(*actions, outputs=()):
    return Task("ann_lee_1", "Cancel your order.", tuple(actions), tuple(outputs))


def run(loaded, a_task, *actions, lines=("Hi.",)):
    environment = Environment(loaded, ScriptedUser(lines))
    environment.reset(a_task)
    for action in actions:
        step = environment.step(action)
    return step


def test_an_episode_opens_with_the_users_line_and_ends_with_their_stop(make_loaded):
    environment = Environment(make_loaded("retail"), ScriptedUser(["Hi.", "Yes.", f"Bye {STOP}"]))
    assert environment.reset(task(CANCEL)) == "Hi."
    step = environment.step(say("Shall I?"))
    assert (step.observation, step.done, step.source, step.reward) == ("Yes.", False, "user", None)
    step = environment.step(CANCEL)
    assert (step.done, step.source) == (False, "cancel_pending_order")
    step = environment.step(say("Done."))
    assert (step.observation, step.done) == (f"Bye {STOP}", True)
    assert step.reward is not None and step.reward.reward == 1.0


def test_an_unknown_action_changes_nothing(make_loaded):
    loaded = make_loaded("retail")
    environment = Environment(loaded, ScriptedUser(["Hi."]))
    environment.reset(task())
    step = environment.step(Action("functions.think", {"thought": "x"}))
    assert (step.observation, step.done) == ("Unknown action functions.think", False)
    assert step.source == "functions.think"
    assert environment.db.data_hash() == loaded.fresh_state().data_hash()


def test_a_transfer_ends_the_episode_even_where_the_call_itself_fails(make_loaded):
    step = run(make_loaded("retail"), task(), Action("transfer_to_human_agents", {}))
    assert step.done and step.reward is not None and step.reward.reward == 1.0
    assert step.observation == (
        "Error: TransferToHumanAgents.invoke() missing 1 required positional argument: 'summary'"
    )
    assert run(make_loaded("airline"), task(), TRANSFER).observation == "Transfer successful"


@pytest.mark.parametrize("kwargs", [{}, {"text": "Hi"}, {"content": None}, {"content": ["Hi"]}])
def test_a_message_without_text_crashes_the_episode(make_loaded, kwargs):
    environment = Environment(make_loaded("retail"), ScriptedUser(["Hi."]))
    environment.reset(task(outputs=["Hi"]))
    with pytest.raises(EpisodeCrashError):
        environment.step(Action("respond", kwargs))
    # Whoever goes on after it gets a reward all the same; the message counts as not said.
    reward = environment.step(TRANSFER).reward
    assert reward.reward == 0.0 and reward.info["outputs"] == {"Hi": False}


def test_the_reward_needs_the_end_state_of_the_task(make_loaded):
    loaded = make_loaded("retail")
    good = run(loaded, task(CANCEL), CANCEL, TRANSFER).reward
    bad = run(loaded, task(CANCEL), TRANSFER).reward
    assert (good.reward, good.info["r_actions"]) == (1.0, 1.0)
    assert (bad.reward, bad.info["r_actions"]) == (0.0, 0.0)
    assert list(good.info) == ["r_actions", "gt_data_hash"]
    assert good.as_row()["actions"] == [{"name": CANCEL.name, "kwargs": CANCEL.kwargs}]


def test_reads_thoughts_messages_and_failed_calls_are_free(make_loaded):
    reads = [
        Action("get_order_details", {"order_id": "#W1"}),
        Action("think", {"thought": "x"}),
        Action("cancel_pending_order", {"order_id": "#W4", "reason": "no longer needed"}),
        say("Hello"),
    ]
    loaded = make_loaded("retail")
    assert run(loaded, task(CANCEL), *reads, CANCEL, TRANSFER, lines=["Hi."] * 3).reward.reward


def test_ground_truth_actions_that_fail_or_end_the_dialogue_are_passed_over(make_loaded):
    failing = Action("cancel_pending_order", {"order_id": "#W4", "reason": "no longer needed"})
    truth = task(TRANSFER, failing, Action("no_such_tool", {}), CANCEL)
    reward = run(make_loaded("retail"), truth, CANCEL, TRANSFER).reward
    assert reward.reward == 1.0
    assert len(reward.as_row()["actions"]) == 4


@pytest.mark.parametrize(
    ("outputs", "said", "found"),
    [
        (["1628"], "It is $1,628 in all.", True),
        (["MUG"], "a mug", True),
        (["1,628"], "1,628", False),  # commas go from what was said, not from the output
        (["5", "6"], "5", False),
        ([""], "", True),
    ],
)
def test_outputs_are_looked_for_in_messages_without_commas(make_loaded, outputs, said, found):
    truth = task(CANCEL, outputs=outputs)
    loaded = make_loaded("retail")
    reward = run(loaded, truth, CANCEL, say(said), TRANSFER, lines=["Hi."] * 3).reward
    assert reward.reward == float(found)
    assert list(reward.info) == ["r_outputs", "outputs"]
    assert reward.info["r_outputs"] == float(found) and list(reward.info["outputs"]) == outputs


def test_outputs_alone_do_not_earn_the_reward(make_loaded):
    truth = task(CANCEL, outputs=["5"])
    reward = run(make_loaded("retail"), truth, say("5"), TRANSFER, lines=["Hi."] * 3).reward
    assert (reward.reward, reward.r_actions, reward.info["r_outputs"]) == (0.0, 0.0, 1.0)


def test_outputs_are_not_looked_for_in_tool_calls(make_loaded):
    thought = Action("think", {"thought": "1628"})
    reward = run(make_loaded("retail"), task(outputs=["1628"]), thought, TRANSFER).reward
    assert reward.reward == 0.0


def test_scoring_leaves_the_agents_state_and_log_as_they_are(make_loaded):
    environment = Environment(make_loaded("retail"), ScriptedUser(["Hi."]))
    environment.reset(task(CANCEL))
    environment.step(RETURN)
    environment.step(TRANSFER)
    own = environment.db.data_hash()
    score(environment.loaded, task(CANCEL), environment.db, environment.log)
    assert environment.db.data_hash() == own
    assert environment.log == [RETURN, TRANSFER]
    assert environment.db["orders"]["#W1"]["status"] == "pending"


def test_episodes_do_not_see_each_other_and_a_reset_begins_anew(make_loaded):
    loaded = make_loaded("retail")
    first = Environment(loaded, ScriptedUser(["Hi."]))
    second = Environment(loaded, ScriptedUser(["Hi."]))
    first.reset(task())
    second.reset(task())
    first.step(CANCEL)
    assert second.db["orders"]["#W1"]["status"] == "pending"
    first.reset(task())
    assert first.db["orders"]["#W1"]["status"] == "pending" and first.log == []
    assert first.db.data_hash() == second.db.data_hash() == loaded.fresh_state().data_hash()


def test_many_episodes_copy_only_what_they_write(make_loaded):
    loaded = make_loaded("retail")
    environment = Environment(loaded, ScriptedUser(["Hi."]))
    copies = []
    for _ in range(2000):
        environment.reset(task())
        environment.step(Action("get_order_details", {"order_id": "#W1"}))
        copies.append(environment.db.copies)
    environment.reset(task())
    environment.step(CANCEL)
    assert set(copies) == {0} and environment.db.copies == 1
    assert all(rows.records for rows in loaded.snapshot.values())


def test_a_recorded_user_with_no_line_left_is_an_error_and_a_scripted_one_stops():
    scripted = ScriptedUser(["a"])
    assert [scripted.reset(""), scripted.step("x"), scripted.step("y")] == ["a", STOP, STOP]
    recorded = RecordedUser(["a"])
    assert recorded.reset("") == "a"
    with pytest.raises(LookupError):
        recorded.step("x")
    assert recorded.reset("") == "a"


def test_threads_in_any_order_give_what_one_thread_gives(data):
    loaded = load_domain("airline", data)
    tasks = list(loaded.tasks["test"])

    def play(a_task):
        environment = Environment(loaded, ScriptedUser(["Hi."]))
        environment.reset(a_task)
        steps = [environment.step(action) for action in (*a_task.actions, TRANSFER)]
        texts = [step.observation for step in steps]
        return texts, steps[-1].reward.gt_data_hash, environment.db.data_hash()

    alone = [play(a_task) for a_task in tasks]
    order = list(range(len(tasks))) * 3
    random.Random(0).shuffle(order)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda index: play(tasks[index]), order))
    assert together == [alone[index] for index in order]


@pytest.mark.parametrize(
    ("name", "split", "number"),
    [
        ("retail", "test", 115),
        ("retail", "dev", 20),
        ("retail", "train", 500),
        ("airline", "test", 50),
    ],
)
def test_playing_each_tasks_own_actions_reaches_its_end_state(data, name, split, number):
    loaded = load_domain(name, data)
    assert len(loaded.tasks[split]) == number
    for a_task in loaded.tasks[split]:
        reward = run(loaded, a_task, *a_task.actions, TRANSFER).reward
        assert reward.r_actions == 1.0


def test_doing_nothing_scores_the_published_floor(data):
    floors = {"retail": [10, 12, 25, 50, 57, 65, 106], "airline": [
        12, 13, 15, 17, 18, 21, 24, 29, 35, 36, 37, 38, 39, 40, 41, 42, 47, 48, 49,
    ]}  # fmt: skip
    for name, floor in floors.items():
        loaded = load_domain(name, data)
        tasks = enumerate(loaded.tasks["test"])
        assert [i for i, a_task in tasks if run(loaded, a_task, TRANSFER).reward.reward] == floor


def test_untouched_data_has_the_published_hash(data):
    hashes = {
        name: load_domain(name, data).fresh_state().data_hash() for name in ("retail", "airline")
    }
    assert hashes == {
        "retail": "5a4b2cb59f4d12dea7e4adff24a7f8fada510ead49372ea4a729a82bbb5f49b5",
        "airline": "4587e6b48ad2b2c4f3e1fecb40aabec7bb2286513273b8f8cec3f5865222f290",
    }
