"""Dialogues that a user ends while agreeing to a change: written ones, traps among them."""

import json
from io import StringIO

import pytest
from rich.console import Console
from support.playing import row_of

from factored.agreement import agrees_and_stops, ended_on_agreement
from factored.episode import Episode, Turn
from factored.metrics import agreement_counts
from factored.results import trajectory
from factored.show import show_dialogue
from factored.taubench.bikes import BIKES
from factored.taubench.tasks import RESPOND, Action, Task

STOP = "###STOP###"

# Each is what the agent says, and what the user answers and ends with.
AGREEMENTS = [
    ("I can cancel order #W1; 20.00 goes back to your card. Shall I proceed?", "Yes, please."),
    ("Would you like me to exchange the lamp for the blue one?", "Yes, that's right. Thank you!"),
    ("Do you want me to go ahead and book it?", "Sure, go ahead."),
    ("The refund is 20.00. Do you confirm (yes/no) that I cancel the order?", "yes"),
    ("To return the lamp, please reply 'yes' to confirm.", "Yes"),
    ("I'll update the address to 5 Elm Street. Is that correct?", "That's correct, thanks."),
    ("You would pay 30 more for the upgrade. Is this okay with you?", "Sounds good!"),
    ("I can proceed with issuing the $50 certificate. Let me know.", "Sure, please do."),
    ("Your lamp is cancelled. Would you like me to also return the desk?", "Yes please, thanks."),
    ("Once you confirm, I will process the return of both items.", "I confirm. Thank you so much"),
    ("Are you sure you want to cancel the reservation?", "Yes, I am sure."),
    ("Here is the plan:\n- **Cancel** #W1\n- **Return** #W2\n\nMay I proceed?", "Okay, thanks!"),
    ("Should I move your rental to Friday?", "Yes \u2014 that\u2019s fine."),
]
TRAPS = [
    ("I have cancelled your order. Is there anything else I can do for you?", "Yes, that is all."),
    ("Your order is cancelled. Anything else?", "No, that is all, thanks"),
    ("Your flight is booked. If you need anything else, let me know.", "Yes, that is all, thanks"),
    ("Shall I cancel the order?", "No, thank you. I'll keep it."),
    ("Shall I cancel the order?", "Actually, never mind. Okay, bye."),
    ("Shall I cancel the order?", "Yes... no, I changed my mind."),
    ("Shall I cancel the order?", "Ok, but don't do it today."),
    ("Shall I cancel the order?", "Thank you, bye."),
    ("Would you like me to look up your order?", "Yes please."),
    ("Would you like me to check whether it can be changed?", "Sure, thanks."),
    ("I can transfer you to a human agent. Would you like me to do that?", "Yes, please."),
    ("Please confirm your e-mail address so that I can find your account.", "Yes, a@b.com"),
    ("Can you confirm your order number? Then I look at the return.", "Sure, #W1"),
    ("Your total is 30.00, which you have paid by card.", "Okay, thanks."),
    ("You are welcome! I can help with changes later, too.", "Great, yes. Bye"),
    ("I am sorry, it cannot be cancelled any more.", "Okay. Thanks anyway."),
    ("What is the reason for the return?", "Ok, it broke."),
    ("", "Yes."),
]


@pytest.mark.parametrize(("proposal", "reply"), AGREEMENTS)
def test_an_agreement_with_which_the_user_ends(proposal, reply):
    assert agrees_and_stops(proposal, f"{reply} {STOP}", just_changed=False)
    assert not agrees_and_stops(proposal, reply, just_changed=False)


@pytest.mark.parametrize(("proposal", "reply"), TRAPS)
def test_an_ending_that_agrees_to_no_change_to_come(proposal, reply):
    assert not agrees_and_stops(proposal, f"{reply} {STOP}", just_changed=False)


def test_a_confirmation_of_what_is_done_is_none():
    done = "The rental is moved to Friday, 12.00 more. Is that correct?"
    assert not agrees_and_stops(done, f"Yes, correct. {STOP}", just_changed=True)
    assert agrees_and_stops(done, f"Yes, correct. {STOP}", just_changed=False)
    more = "The rental is moved. Would you like me to add a helmet?"
    assert agrees_and_stops(more, f"Yes, please. {STOP}", just_changed=True)


def test_long_messages_are_looked_at_from_their_end():
    text = "a " * 500_000
    assert agrees_and_stops(f"{text}. Shall I cancel it?", f"{text} yes {STOP}", False)
    assert not agrees_and_stops("Shall I cancel it? " * 3 + text, f"yes {STOP}", False)


def says(text, answer):
    action = Action(RESPOND, {"content": text})
    return Turn(text, action=action, observation=answer, source="user")


def calls(name, answer="{}"):
    return Turn("x", call="{}", action=Action(name, {}), observation=answer, source=name)


ASKS = says("Is Friday right for moving it?", "Yes.")
DONE = "It is moved to Friday. Is that correct?"


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([says("Shall I cancel it?", f"Yes, please. {STOP}")], True),
        ([ASKS, calls("move_rental"), says(DONE, f"Yes, thanks. {STOP}")], False),
        ([ASKS, calls("move_rental", "Error: no"), says(DONE, f"Yes. {STOP}")], True),
        ([calls("move_rental"), ASKS, says(DONE, f"Yes, thanks. {STOP}")], True),
        ([ASKS, calls("get_rental"), says(DONE, f"Yes, thanks. {STOP}")], True),
        ([says("Shall I cancel it?", "Yes, please."), calls("cancel_rental")], False),
        ([says("Shall I cancel it?", "Yes, please.")], False),
        ([says("Shall I cancel it?", f"Yes. {STOP}"), calls("cancel_rental")], False),
        ([], False),
    ],
)
def test_the_turns_decide_whether_the_change_was_made(turns, found):
    assert ended_on_agreement(turns, BIKES.writes) is found


def test_such_episodes_are_counted_apart_with_those_that_failed(bikes):
    turns = [says("Shall I cancel it?", f"Yes, please. {STOP}")]
    other = [says("It is cancelled. Anything else?", f"Yes, that is all, thanks {STOP}")]
    rows = [row_of(0, 0, 0.0, turns=turns), row_of(1, 0, 1.0, turns=turns), row_of(turns=other)]
    counts = agreement_counts(rows, bikes)
    assert (counts.episodes, counts.failed) == (2, 1)


def shown(row):
    out = StringIO()
    show_dialogue(row, Console(file=out, width=100))
    return out.getvalue()


def written(turns):
    """A row as results.json holds it."""
    episode = Episode(Task("", "", (), ()), opening="Hello.", turns=turns)
    row = {**row_of(turns=turns).as_row(), "traj": trajectory(episode, "Be kind.")}
    return json.loads(json.dumps(row))


MARK = "ENDED ON AGREEMENT"


def test_show_marks_such_an_ending_in_our_rows():
    turns = [says("Shall I cancel it?", f"Yes, please. {STOP}")]
    assert MARK in shown(written(turns))
    turns = [ASKS, calls("move_rental"), says(DONE, f"Yes, thanks. {STOP}")]
    assert MARK not in shown(written(turns))


def test_show_marks_such_an_ending_in_tau_bench_s_own_files():
    function = {"name": "cancel_pending_order", "arguments": "{}"}
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
    answer = {"role": "tool", "name": "cancel_pending_order", "content": "{}"}
    asks = {"role": "assistant", "content": "You get 5.00 back for cancelling. Is that right?"}
    ends = {"role": "user", "content": f"Yes. {STOP}"}
    opening = {"role": "user", "content": "Cancel it."}
    assert MARK in shown({"task_id": 0, "traj": [opening, asks, ends]})
    assert MARK not in shown({"task_id": 0, "traj": [opening, call, answer, asks, ends]})
    assert MARK not in shown({"task_id": 0, "traj": [opening]})


def test_the_published_dialogues_hold_two(data):
    found = []
    for file in ("gpt-4o-airline", "tool-calling-retail"):
        records = json.loads((data / "trajectories" / f"{file}.json").read_text())
        found += [record["task_id"] for record in records if MARK in shown(record)]
    assert found == [45, 91]
