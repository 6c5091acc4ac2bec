"""Act: ReAct without the thought."""

from dataclasses import dataclass
from typing import Literal

from factored.agents.react import ActionForm


@dataclass(frozen=True)
class ActForm(ActionForm):
    """An action in JSON and no thought."""

    kind: Literal["act"]
