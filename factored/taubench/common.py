"""The four tools that every TauBench domain has."""

from typing import Annotated

from factored.taubench.arithmetic import ALLOWED, evaluate
from factored.taubench.state import Record, State
from factored.taubench.tools import require, tool

UserId = Annotated[str, "The user id, such as 'sara_doe_496'."]


@tool
def calculate(db: State, expression: Annotated[str, "Such as '2 + 2'."]) -> str:  # noqa: ARG001
    """Work out an expression of numbers, + - * /, parentheses and blanks."""
    require(all(char in ALLOWED for char in expression), "invalid characters in expression")
    # A list of allowed characters comes as far as this; the original's eval refuses it so.
    if not isinstance(expression, str):
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    return evaluate(expression)


@tool
def get_user_details(db: State, user_id: UserId) -> Record:
    """Show a user's profile."""
    require(user_id in db["users"], "user not found")
    return db["users"][user_id]


@tool
def think(db: State, thought: Annotated[str, "The thought."]) -> str:  # noqa: ARG001
    """Write a thought down; nothing is looked up and nothing changes."""
    return ""


@tool
def transfer_to_human_agents(
    db: State,  # noqa: ARG001
    summary: Annotated[str, "A summary of the user's issue."],  # noqa: ARG001
) -> str:
    """Hand the user over to a human agent, which ends the dialogue."""
    return "Transfer successful"
