"""A clock of dates that moves only when a test moves it."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(slots=True)
class ManualTime:
    """Returns `now` when it is called."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **units: float) -> None:
        """Moves the clock. The units are those of timedelta: `seconds=1`, `minutes=1`."""
        self.now += timedelta(**units)
