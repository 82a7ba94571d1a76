"""`Outcome`: what was throttled in a run with one policy, and what it cost."""

from dataclasses import dataclass, field
from decimal import Decimal

from keyfence.usage.hourly_usage import DEFAULT_PRICES, PriceTable

MONTH_SECONDS = 30 * 86_400
STEP_SECONDS = 10
"""The seconds that one point of the plot stands for."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """A request is an item written or a page read. A throttled request uses no units.

    Quiet tenants are those that never come near a limit. All others are simulated second by second.
    """

    policy: str
    seconds: int
    burst_seconds: float
    requests: float = 0.0
    throttled_writes: float = 0.0
    throttled_pages: float = 0.0
    read_units: float = 0.0
    write_units: float = 0.0
    extra_read_units: float = 0.0
    """The read units in addition to those that the same pages cost with one shard."""
    extra_read_units_of_quiet_tenants: float = 0.0
    tenants_throttled: int = 0
    tenants_with_several_shards: int = 0
    shards: int = 0
    """The shards of all tenants at the end of the run."""
    simulated_tenants: int = 0
    throttled_at_max_shards: float = 0.0
    """Requests that were throttled after the tenant had all shards that its tier allows."""
    throttled_below_max_shards: float = 0.0
    """Requests that were throttled after the last growth of the tenant, although its tier allows more shards."""
    requests_by_step: list[float] = field(default_factory=list)
    """The requests of simulated tenants."""
    throttled_by_step: list[float] = field(default_factory=list)

    @property
    def throttled(self) -> float:
        return self.throttled_writes + self.throttled_pages

    @property
    def throttled_while_growing(self) -> float:
        """Requests that were throttled before the tenant could write to its last new shards."""
        return self.throttled - self.throttled_at_max_shards - self.throttled_below_max_shards

    @property
    def throttled_share(self) -> float:
        return self.throttled / self.requests

    @property
    def late_throttled_share(self) -> float:
        """The throttled share in the last fifth of the run. Quiet tenants have the same traffic in every fifth."""
        steps = len(self.requests_by_step)
        late_steps = max(1, steps // 5)
        requests_of_quiet_tenants = (self.requests - sum(self.requests_by_step)) * late_steps / steps
        late_requests = requests_of_quiet_tenants + sum(self.requests_by_step[-late_steps:])
        return sum(self.throttled_by_step[-late_steps:]) / late_requests

    def usd_a_month(self, prices: PriceTable = DEFAULT_PRICES) -> Decimal:
        return prices.cost(self.read_units, self.write_units) * MONTH_SECONDS / self.seconds

    def usd_a_billion(self, prices: PriceTable = DEFAULT_PRICES) -> Decimal:
        """Returns the cost of a billion requests that are served. A throttled request costs nothing."""
        return prices.cost(self.read_units, self.write_units) * 10**9 / Decimal(self.requests - self.throttled)
