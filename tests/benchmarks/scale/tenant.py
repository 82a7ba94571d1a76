"""A tenant of the model, with its traffic by second and in total."""

from dataclasses import dataclass
from math import cos, pi, sin

from keyfence.tenancy.tier_quotas import Tier

DAY_SECONDS = 86_400
DAILY_SWING = 0.3
"""The share by which traffic is above its average by day, and below it by night."""

BURST_FACTOR, BURST_SECONDS = 3.0, 20
"""How many times the usual traffic a burst is, and how long it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A tenant that writes items to one list. All numbers of items are by second."""

    tier: Tier
    average_writes: float
    max_writes: float
    """The writes that the tenant's quota lets through."""
    day_phase: float = 0.0
    """The time of day at the start of the run, as a share of a day."""
    burst_at: int | None = None
    hot_at: int | None = None
    """The second from which on the tenant has `hot_writes` in addition."""
    hot_writes: float = 0.0

    def writes(self, second: int) -> float:
        """Returns the expected number of items written in this second."""
        swing = DAILY_SWING * sin(self._angle(second))
        usual = self.average_writes * (1 + swing + self._in_burst(second) * (BURST_FACTOR - 1))
        hot = self.hot_writes if self.hot_at is not None and second >= self.hot_at else 0.0
        return min(self.max_writes, usual + hot)

    @property
    def highest_writes(self) -> float:
        """An upper bound of the writes in any second, without the quota."""
        return self.average_writes * (DAILY_SWING + BURST_FACTOR) + self.hot_writes

    def total_writes(self, seconds: int) -> float:
        """Returns the sum of `writes` over the run by a formula, for a tenant that stays below its quota."""
        cosine_difference = cos(self._angle(-0.5)) - cos(self._angle(seconds - 0.5))
        swing_seconds = DAILY_SWING * cosine_difference * DAY_SECONDS / (2 * pi)
        hot = 0.0 if self.hot_at is None else self.hot_writes * max(0, seconds - self.hot_at)
        burst_seconds = (BURST_FACTOR - 1) * self._burst_seconds(seconds)
        return self.average_writes * (seconds + swing_seconds + burst_seconds) + hot

    def _angle(self, second: float) -> float:
        return 2 * pi * (second / DAY_SECONDS + self.day_phase)

    def _in_burst(self, second: int) -> bool:
        return self.burst_at is not None and self.burst_at <= second < self.burst_at + BURST_SECONDS

    def _burst_seconds(self, seconds: int) -> int:
        return 0 if self.burst_at is None else max(0, min(BURST_SECONDS, seconds - self.burst_at))
