"""Run the tasks' own actions through the environment, to find those answered with an error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from factored.taubench.environment import LoadedDomain
from factored.taubench.tasks import RESPOND, Action, Task
from factored.taubench.tools import EpisodeCrashError


@dataclass(frozen=True)
class Answer:
    """What the environment says to an action of a task; ``writes``: its tool changes data."""

    task: int
    action: Action
    text: str
    writes: bool

    @property
    def failed(self) -> bool:
        """Whether it is an error: then the state that the task asks for lacks the action."""
        return self.text.startswith(("Error: ", "Unknown action "))


def ground_truth_answers(loaded: LoadedDomain, tasks: Sequence[Task]) -> Iterator[Answer]:
    """Yield the answer to every action of every task, each task on untouched data."""
    for index, task in enumerate(tasks):
        db = loaded.fresh_state()
        for action in task.actions:
            if action.name == RESPOND:
                continue
            try:
                text = loaded.run(db, action)
            except EpisodeCrashError as error:
                text = f"Error: {error}"
            yield Answer(index, action, text, action.name in loaded.domain.writes)
