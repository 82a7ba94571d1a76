"""What the resolvers of one operator's request hold: the register, and what can be done to the tenants in it."""

from collections.abc import Callable
from dataclasses import dataclass

from strawberry.types import Info as StrawberryInfo

from keyfence.auth.principal import Operator
from keyfence.migrations.records import Records
from keyfence.operations.moving import Moves
from keyfence.operations.offboarding.beginning import Offboard
from keyfence.operations.onboarding import Onboarding
from keyfence.operations.resharding import Reshards
from keyfence.tenancy.identities import Rotation
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.repository import Register
from keyfence.tenancy.standing import Standing
from keyfence.traffic.hot_partition import HotPartitions
from keyfence.usage.prices import Prices
from keyfence.usage.repository import Usages


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
