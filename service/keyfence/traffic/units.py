"""Units of one partition in one step of time, and what one partition gives in a second."""

from typing import NamedTuple

READ_LIMIT = 3_000.0
WRITE_LIMIT = 1_000.0

STEP = 10
"""Seconds that are summed up."""

STEPS = 6
"""So many steps are a window."""

WINDOW = STEP * STEPS


class Units(NamedTuple):
    """What was asked for, also in vain; `reads` are the calls that read, `throttled` those that were turned away."""

    read: float = 0.0
    write: float = 0.0
    reads: int = 0
    throttled: int = 0

    def plus(self, other: "Units") -> "Units":
        return Units(
            self.read + other.read,
            self.write + other.write,
            self.reads + other.reads,
            self.throttled + other.throttled,
        )


def load(read: float, write: float) -> float:
    """Seconds of a partition that these units take."""
    return read / READ_LIMIT + write / WRITE_LIMIT


def step_of(moment: float) -> int:
    """Steps are the same on all servers."""
    return int(moment // STEP)
