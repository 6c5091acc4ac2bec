"""Where a run's settings and figures are also shown; the files on disk stay the truth."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class TrackerSpec:
    """``none``: nothing leaves the run folder."""

    name: str
    kind: Literal["none"]
