"""Act: ReAct without the thought."""

from dataclasses import dataclass
from typing import Literal

from factored.agents.react import ActionForm


@dataclass(frozen=True)
class ActForm(ActionForm):
    """The action is all there is."""

    kind: Literal["act"]
