"""A tenant of the model, with its traffic by second and in total."""

from dataclasses import dataclass
from math import cos, pi, sin

from keyfence.tenancy.tier_quotas import Tier

DAY = 86_400
SWING = 0.3
"""How much traffic is above its average by day, and below it by night."""

BURST, BURST_SECONDS = 3.0, 20
"""The factor of traffic in a burst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """`most` is the limit of its quota. From `hot_at` on its traffic is higher by `hot`."""

    tier: Tier
    base: float
    most: float
    phase: float = 0.0
    burst_at: int | None = None
    hot_at: int | None = None
    hot: float = 0.0

    def writes(self, second: int) -> float:
        """Returns the expected number of items written in this second."""
        wanted = self.base * (1 + SWING * sin(self._angle(second)) + self._in_burst(second) * (BURST - 1))
        hot = self.hot if self.hot_at is not None and second >= self.hot_at else 0.0
        return min(self.most, wanted + hot)

    @property
    def highest(self) -> float:
        """Returns an upper bound of the traffic in any second."""
        return self.base * (SWING + BURST) + self.hot

    def total(self, seconds: int) -> float:
        """Returns the sum of `writes` over the run in closed form, for a tenant that stays below its quota."""
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
