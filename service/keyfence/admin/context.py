"""What the resolvers of one operator's request hold: the register, and what can be done to the tenants in it."""

from collections.abc import Callable
from dataclasses import dataclass

from strawberry.types import Info as StrawberryInfo

from keyfence.admin.onboarding import Onboarding
from keyfence.auth.principal import Operator
from keyfence.hot_partitions.fleet import HotPartitions
from keyfence.jobs.lease import Records
from keyfence.jobs.move.start import Moves
from keyfence.jobs.offboard.start import Offboard
from keyfence.jobs.reshard.start import Reshards
from keyfence.tenancy.administration import Rotation, Standing
from keyfence.tenancy.repository import Register
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import Prices, Usages


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """No tenant's data can be reached through it, but for the owner whom onboarding writes."""

    operator: Operator
    register: Register
    standing: Standing
    onboarding: Onboarding
    rotation: Rotation
    offboarding: Offboard
    reshards: Reshards
    moves: Moves
    migrations: Records
    usages: Usages
    prices: Prices
    hot: HotPartitions
    told: Callable[[Tenant], None]
    """Hears of tenants that changed, so that this very process knows at once."""


Info = StrawberryInfo[Context, None]
