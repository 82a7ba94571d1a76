"""A tenant of the model: what it asks for in any second, and in all of them together."""

from dataclasses import dataclass
from math import cos, pi, sin

from keyfence.tenancy.quotas import Tier

DAY = 86_400
SWING = 0.3
"""Traffic is so much more by day, and less by night, than it is on average."""

BURST, BURST_SECONDS = 3.0, 20
"""In a burst a tenant asks for so many times what it asks for on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """`most` is what its quota lets through. From `hot_at` on it asks for `hot` more than it did."""

    tier: Tier
    base: float
    most: float
    phase: float = 0.0
    burst_at: int | None = None
    hot_at: int | None = None
    hot: float = 0.0

    def writes(self, second: int) -> float:
        """Expected items written in this second."""
        wanted = self.base * (1 + SWING * sin(self._angle(second)) + self._in_burst(second) * (BURST - 1))
        hot = self.hot if self.hot_at is not None and second >= self.hot_at else 0.0
        return min(self.most, wanted + hot)

    @property
    def highest(self) -> float:
        """No second can want more than this."""
        return self.base * (SWING + BURST) + self.hot

    def total(self, seconds: int) -> float:
        """The sum of `writes` over the run, without adding them up; for a tenant that its quota never holds back."""
        turned = cos(self._angle(-0.5)) - cos(self._angle(seconds - 0.5))
        day = SWING * turned * DAY / (2 * pi)
        heat = 0.0 if self.hot_at is None else self.hot * max(0, seconds - self.hot_at)
        return self.base * (seconds + day + (BURST - 1) * self._burst_seconds(seconds)) + heat

    def _angle(self, second: float) -> float:
        return 2 * pi * (second / DAY + self.phase)

    def _in_burst(self, second: int) -> bool:
        return self.burst_at is not None and self.burst_at <= second < self.burst_at + BURST_SECONDS

    def _burst_seconds(self, seconds: int) -> int:
        return 0 if self.burst_at is None else max(0, min(BURST_SECONDS, seconds - self.burst_at))
