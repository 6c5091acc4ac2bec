"""Recorded text in place of a model: reads the generations of an earlier run, row by request."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.completions import Completion, Request, failed, from_row
from harness.engines.base import EngineSpec
from harness.errors import UserError
from harness.hashing import digest_of_file
from harness.models import Checkpoint, ModelSpec


@dataclass(frozen=True)
class ReplaySpec(EngineSpec):
    """``recording`` is the generations.jsonl of an arm or of a memory."""

    kind: Literal["replay"]
    recording: str

    supports_adapters: ClassVar[bool] = True
    supports_tool_choice: ClassVar[bool] = True

    def identity(self) -> dict[str, Any]:
        """Return the digest of the recording's bytes, wherever the file lies."""
        return {"kind": self.kind, "recording": digest_of_file(self._path())}

    def version(self) -> str:
        """Return 1: the recording is the whole engine."""
        return "1"

    def open(self, model: ModelSpec, checkpoint: Checkpoint | None) -> "ReplayEngine":  # noqa: ARG002
        """Read the recording; it needs neither model nor weights."""
        return ReplayEngine(self._path())

    def _path(self) -> Path:
        path = Path(self.recording)
        if not path.is_file():
            raise UserError(f"engine.recording: {path} is not a file: give a generations.jsonl")
        return path


class ReplayEngine:
    """Serves each request from the row with its digest; one that was never recorded fails."""

    def __init__(self, path: Path) -> None:
        """Read the whole recording; raises UserError naming the first row that is not one."""
        self.path = path
        self.recorded: dict[str, Completion] = {}
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    row = json.loads(line)
                    self.recorded[row["request"]] = from_row(row)
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    raise UserError(
                        f"{path} row {number} is not a generation ({error!r}): mend or remove it"
                    ) from error

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Yield all completions in one group."""
        absent = failed(f"not in the recording {self.path}")
        yield {i: self.recorded.get(requests[i].digest, absent) for i in sorted(missing)}

    def close(self) -> None:
        """Do nothing: there is no memory to give back."""
