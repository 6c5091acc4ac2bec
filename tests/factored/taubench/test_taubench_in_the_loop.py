"""What the original environment dies of, as an agent in the loop meets it."""

from dataclasses import replace

from support.playing import LIMITS, Says, form_of

from factored.call_checks import CallChecker
from factored.episode import Agent, run_episode
from factored.taubench.environment import Environment
from factored.taubench.tasks import Task
from factored.taubench.users import ScriptedUser
from factored.tool_agents import Oracle

TEXT = 'Call the tool send_certificate with user_id set to "ann_lee_1" and amount set to 50.'


def certificates(loaded, **limits):
    planner = Says(f"natural_language_tool_call {TEXT}")
    agent = Agent(form_of("factored"), planner, Oracle(), CallChecker(loaded.schemas), "")
    environment = Environment(loaded, ScriptedUser(["Hi"]))
    return run_episode(environment, Task("", "", (), ()), agent, replace(LIMITS, **limits))


def test_a_fourth_certificate_is_answered_with_an_error(make_loaded):
    episode = certificates(make_loaded("airline"), steps=5)
    answers = [turn.observation for turn in episode.turns]
    assert [answer.startswith("Certificate") for answer in answers] == [True] * 3 + [False] * 2
    assert answers[3].startswith("Error: ")
    assert episode.ended == "max_steps"


def test_upstream_strict_dies_of_it(make_loaded):
    episode = certificates(make_loaded("airline"), upstream_strict=True)
    assert (episode.ended, len(episode.turns), episode.reward) == ("crash", 4, None)
