"""What an engine of a test's own inherits: the capabilities of one that has none."""

from typing import ClassVar

from harness.models import ModelSpec


class Capabilities:
    reads_weights: ClassVar[bool] = False
    asks_server: ClassVar[bool] = False
    supports_schema: ClassVar[bool] = False
    supports_adapters: ClassVar[bool] = False
    supports_tool_choice: ClassVar[bool] = False
    scores: ClassVar[bool] = False

    def served_name(self, model: ModelSpec) -> str:
        return model.name
