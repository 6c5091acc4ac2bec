"""Rules of ``boundary`` on which people may differ, as switches."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ScoringRules:
    """How strictly ``boundary`` reads.

    ``surname``: a surname alone gives the person, where the question asks for a person and no other
    candidate of the row has that surname.
    ``partial_dates``: a month or a year gives each date that it fits; without, only the date as
    exact as the value's does.
    """

    surname: bool = True
    partial_dates: bool = True

    def changes(self) -> str:
        """Return what differs from the defaults, as "surname=false"; empty if nothing does."""
        default = asdict(ScoringRules())
        return " ".join(
            f"{name}={str(value).lower()}"
            for name, value in asdict(self).items()
            if value != default[name]
        )


DEFAULT_RULES = ScoringRules()
