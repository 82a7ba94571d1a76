"""What happened in the last seconds, second by second."""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from keyfence_iam.dynamodb.capacity import PartitionUnits

SECONDS = 10


@dataclass(slots=True)
class Second:
    """The sums of one second."""

    at: int
    read: float = 0.0
    write: float = 0.0
    throttles: int = 0


class Sum(NamedTuple):
    """Units a second over all of the window, the most in one of its seconds, and all throttles."""

    read: float = 0.0
    write: float = 0.0
    peak_read: float = 0.0
    peak_write: float = 0.0
    throttles: int = 0

    @property
    def weight(self) -> float:
        """What makes one worth keeping: units, and being turned away."""
        return self.read + self.write + self.throttles


@dataclass(slots=True)
class Window:
    """Slides; a second in which nothing happened is not kept."""

    seconds: deque[Second] = field(default_factory=lambda: deque(maxlen=SECONDS))

    def spend(self, claim: PartitionUnits, now: float) -> None:
        second = self._second(now)
        if claim.kind == "read":
            second.read += claim.units
        else:
            second.write += claim.units

    def throttle(self, now: float) -> None:
        self._second(now).throttles += 1

    def sum(self, now: float) -> Sum | None:
        """None where nothing happened."""
        oldest = int(now) - SECONDS
        recent = [second for second in self.seconds if second.at > oldest]
        if not recent:
            return None
        reads, writes = [second.read for second in recent], [second.write for second in recent]
        throttles = sum(second.throttles for second in recent)
        return Sum(sum(reads) / SECONDS, sum(writes) / SECONDS, max(reads), max(writes), throttles)

    def _second(self, now: float) -> Second:
        if not self.seconds or self.seconds[-1].at != int(now):
            self.seconds.append(Second(int(now)))
        return self.seconds[-1]
