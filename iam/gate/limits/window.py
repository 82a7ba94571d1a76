"""What happened in the last seconds, second by second."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from iam.gate.limits.claim import Claim, Kind

SECONDS = 10


@dataclass(slots=True)
class Second:
    """The sums of one second."""

    at: int
    read: float = 0.0
    write: float = 0.0
    throttles: int = 0


@dataclass(slots=True)
class Window:
    """Slides; a second in which nothing happened is not kept."""

    seconds: deque[Second] = field(default_factory=lambda: deque(maxlen=SECONDS))

    def spend(self, claim: Claim, now: float) -> None:
        second = self._second(now)
        if claim.kind == "read":
            second.read += claim.units
        else:
            second.write += claim.units

    def throttle(self, now: float) -> None:
        self._second(now).throttles += 1

    def rate(self, kind: Kind, now: float) -> float:
        return sum(self._units(kind, now)) / SECONDS

    def peak(self, kind: Kind, now: float) -> float:
        """The most in one second."""
        return max(self._units(kind, now), default=0.0)

    def throttles(self, now: float) -> int:
        return sum(second.throttles for second in self._recent(now))

    def weight(self, now: float) -> float:
        """What makes one worth keeping: units, and being turned away."""
        return sum(second.read + second.write + second.throttles for second in self._recent(now))

    def _units(self, kind: Kind, now: float) -> Iterator[float]:
        return (second.read if kind == "read" else second.write for second in self._recent(now))

    def _recent(self, now: float) -> Iterator[Second]:
        return (second for second in tuple(self.seconds) if int(now) - SECONDS < second.at)

    def _second(self, now: float) -> Second:
        if not self.seconds or self.seconds[-1].at != int(now):
            self.seconds.append(Second(int(now)))
        return self.seconds[-1]
