"""The former name of ``harness.validators``, for imports that have not moved yet."""

from harness.validators import Filled, Name, holding

__all__ = ["Filled", "Name", "holding"]
