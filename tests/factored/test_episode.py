"""The loop: run or punt, steps, limits, and whose fault an end is."""

import threading

import pytest
from support.playing import Says, Writes

from factored.roles import ContextExceededError, InfrastructureError, InterruptedEpisodeError
from factored.taubench.users import STOP, ScriptedUser

MARK = "natural_language_tool_call"
GET = '{"name": "get_member", "arguments": {"member_id": "M-102"}}'


def test_a_request_becomes_a_call_and_its_answer_goes_back_to_the_planner(run_bikes):
    planner = Says(f"{MARK} Show member M-102.", "Your credit is 35.5.")
    episode = run_bikes(
        planner, tool_agent=Writes(GET), user=ScriptedUser(["Hi", f"Thanks {STOP}"])
    )
    first, second = episode.turns
    assert (first.request, first.call, first.source) == ("Show member M-102.", GET, "get_member")
    assert '"credit": 35.5' in first.observation
    assert planner.shown[1][-1].content == f"API output: {first.observation}"
    assert planner.shown[1][:2] == planner.shown[0], "a dialogue only grows"
    assert (second.observation, episode.ended, episode.steps) == (f"Thanks {STOP}", "user_stop", 2)
    assert episode.reward is not None
    assert episode.reward.reward == 1.0


def test_a_punt_goes_back_with_its_reason_and_touches_nothing(run_bikes, bikes):
    bad = '{"name": "give_credit", "arguments": {"member_id": "M-101", "amount": "9"}}'
    planner = Says(f"{MARK} Give 9.", "Sorry.")
    episode = run_bikes(planner, tool_agent=Writes(bad), user=ScriptedUser(["Hi"]))
    punted = episode.turns[0]
    assert (punted.action, punted.source) == (None, "punt")
    assert punted.punt is not None
    assert punted.punt.error == "wrong_type"
    assert planner.shown[1][-1].content == f"API output: Error: {punted.punt.reason}"
    assert episode.final_hash == bikes.fresh_state().data_hash()


@pytest.mark.parametrize(
    ("costs", "ended", "turns"), [(True, "max_steps", 5), (False, "max_punts", 8)]
)
def test_a_punt_costs_a_step_or_not_and_a_loop_of_punts_ends_either_way(
    run_bikes, costs, ended, turns
):
    episode = run_bikes(
        Says(f"{MARK} What?"),
        tool_agent=Writes("no"),
        steps=5,
        planner_calls=8,
        punt_costs_step=costs,
    )
    assert (episode.ended, len(episode.turns)) == (ended, turns)
    assert episode.reward is None
    assert episode.valid


def test_an_agent_that_never_stops_talking_runs_into_the_limit(run_bikes):
    episode = run_bikes(Says("And what else?"), steps=4)
    assert (episode.ended, episode.steps, episode.reward) == ("max_steps", 4, None)


def test_a_terminating_tool_ends_the_episode_with_its_reward(run_bikes):
    call = f'{MARK} Call the tool transfer_to_human_agents with summary set to "x".'
    episode = run_bikes(Says(call))
    assert (episode.ended, len(episode.turns)) == ("agent_stop", 1)
    assert episode.reward is not None


@pytest.mark.parametrize("kind", ["faep", "native", "react", "act"])
def test_every_other_kind_goes_through_the_same_loop_without_a_tool_agent(run_bikes, kind):
    text = {
        "faep": f"json_tool_call {GET}",
        "native": f"<tool_call>{GET}</tool_call>",
        "react": f"Thought: look.\nAction: {GET}",
        "act": f"Action: {GET}",
    }[kind]
    episode = run_bikes(Says(text, "35.5"), agent=kind, user=ScriptedUser(["Hi"]))
    assert episode.turns[0].source == "get_member"
    assert episode.turns[0].request is None
    assert episode.ended == "user_stop"


def test_upstream_strict_runs_an_ill_typed_call_and_dies_of_one_that_is_no_json(run_bikes):
    ill = '{"name": "get_member", "arguments": {"wrong": 1}}'
    planner = Says(f"<tool_call>{ill}</tool_call>", "<tool_call>{broken</tool_call>")
    episode = run_bikes(planner, agent="native", upstream_strict=True)
    assert episode.turns[0].observation == (
        "Error: GetMember.invoke() got an unexpected keyword argument 'wrong'"
    )
    assert (episode.ended, episode.reward) == ("crash", None)
    assert episode.valid, "the agent's own failure, reward 0"


@pytest.mark.parametrize("kind", ["react", "act"])
def test_upstream_strict_sends_a_broken_action_to_the_user(run_bikes, kind):
    episode = run_bikes(Says("Action: {broken"), agent=kind, upstream_strict=True, steps=1)
    assert episode.turns[0].action is not None
    assert episode.turns[0].action.kwargs == {"content": "{broken"}
    dies = run_bikes(Says('Action: {"name": "get_rental"}'), agent=kind, upstream_strict=True)
    assert (dies.ended, len(dies.turns)) == ("crash", 1)


class Breaks:
    """Raises at every use."""

    cost = 0.0

    def __init__(self, error: Exception) -> None:
        self.error = error

    def decide(self, messages):
        raise self.error

    def reset(self, instruction):
        return "Hello."

    def step(self, content):
        raise self.error


def test_a_failing_user_simulator_is_no_failure_of_the_agent(run_bikes):
    episode = run_bikes(Says("Hello"), user=Breaks(RuntimeError("no line")))
    assert (episode.ended, episode.valid) == ("infrastructure", False)
    assert "no line" in str(episode.error)


def test_an_engine_that_fails_for_good_is_no_failure_of_the_agent(run_bikes):
    episode = run_bikes(Breaks(InfrastructureError("planner: down")))
    assert (episode.ended, episode.valid, episode.error) == (
        "infrastructure", False, "planner: down",
    )  # fmt: skip


def test_a_dialogue_that_outgrows_the_planner_is_a_failure_of_the_agent(run_bikes):
    episode = run_bikes(Breaks(ContextExceededError("too long")))
    assert (episode.ended, episode.valid, episode.reward) == ("context", True, None)


def test_time_out_gives_no_reward(run_bikes):
    episode = run_bikes(Says("Hello"), seconds=-1.0)
    assert (episode.ended, episode.valid) == ("timeout", False)


def test_a_stopped_run_leaves_the_episode(run_bikes):
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(InterruptedEpisodeError):
        run_bikes(Says("Hello"), stopping=stopping)
