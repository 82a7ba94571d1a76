"""What the resolvers of one operator's request hold: the register, and what can be done to the tenants in it."""

from collections.abc import Callable
from dataclasses import dataclass

from strawberry.types import Info as StrawberryInfo

from service.auth.principal import Operator
from service.migrations.records import Records
from service.operations.moving import Moves
from service.operations.offboarding.beginning import Offboard
from service.operations.onboarding import Onboarding
from service.operations.resharding import Reshards
from service.tenancy.identities import Rotation
from service.tenancy.model import Tenant
from service.tenancy.register import Register
from service.tenancy.standing import Standing
from service.traffic.hot_partition import HotPartitions
from service.usage.prices import Prices
from service.usage.repository import Usages


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
