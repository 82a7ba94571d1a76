"""Time that passes when it is told to."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Seconds since some moment."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now
