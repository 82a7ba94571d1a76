"""The outcome of a run with one policy."""

from dataclasses import dataclass, field
from decimal import Decimal

from keyfence.usage.hourly_usage import DEFAULT_PRICES, PriceTable

MONTH = 30 * 86_400
STEP = 10
"""The seconds of one point of the plot."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Requests are items written and pages read; units are those of what was carried out.

    Of what was throttled, a part was when the tenant had all the slots that it got in the run: those that its tier
    allows, or fewer. The rest fell while it waited for them. Quiet tenants are those that never come near a limit."""

    policy: str
    seconds: int
    burst_seconds: float
    requests: float = 0.0
    throttled_writes: float = 0.0
    throttled_pages: float = 0.0
    read_units: float = 0.0
    write_units: float = 0.0
    extra_read_units: float = 0.0
    extra_of_quiet: float = 0.0
    tenants_throttled: int = 0
    tenants_widened: int = 0
    slots: int = 0
    stepped: int = 0
    throttled_at_bound: float = 0.0
    throttled_with_slots: float = 0.0
    asked_by_step: list[float] = field(default_factory=list)
    throttled_by_step: list[float] = field(default_factory=list)

    @property
    def throttled(self) -> float:
        return self.throttled_writes + self.throttled_pages

    @property
    def share(self) -> float:
        return self.throttled / self.requests

    @property
    def late_share(self) -> float:
        """Returns the share in the last fifth of the run. Quiet tenants have the same traffic in every fifth."""
        late = -max(1, len(self.asked_by_step) // 5)
        quiet = (self.requests - sum(self.asked_by_step)) * -late / len(self.asked_by_step)
        return sum(self.throttled_by_step[late:]) / (quiet + sum(self.asked_by_step[late:]))

    def usd_a_month(self, prices: PriceTable = DEFAULT_PRICES) -> Decimal:
        return prices.cost(self.read_units, self.write_units) * MONTH / self.seconds

    def usd_a_billion(self, prices: PriceTable = DEFAULT_PRICES) -> Decimal:
        """Returns the cost of each request that was served. A throttled request costs nothing."""
        return prices.cost(self.read_units, self.write_units) * 10**9 / Decimal(self.requests - self.throttled)
