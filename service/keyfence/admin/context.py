"""What the resolvers of one operator's request hold: the register, and what can be done to the tenants in it."""

from collections.abc import Callable
from dataclasses import dataclass

from strawberry.types import Info as StrawberryInfo

from keyfence.admin.onboarding import Onboarding
from keyfence.auth.principal import Operator
from keyfence.hot_partitions.fleet import HotPartitions
from keyfence.jobs.lease import JobStore
from keyfence.jobs.move.start import StartMove
from keyfence.jobs.offboard.start import Offboard
from keyfence.jobs.reshard.start import StartReshard
from keyfence.tenancy.administration import IssuerKeyRotation, TenantAdministration
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import PriceTable, UsageRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """No tenant's data can be reached through it, but for the owner whom onboarding writes."""

    operator: Operator
    register: TenantRepository
    standing: TenantAdministration
    onboarding: Onboarding
    rotation: IssuerKeyRotation
    offboarding: Offboard
    reshards: StartReshard
    moves: StartMove
    migrations: JobStore
    usages: UsageRepository
    prices: PriceTable
    hot: HotPartitions
    told: Callable[[Tenant], None]
    """Hears of tenants that changed, so that this very process knows at once."""


Info = StrawberryInfo[Context, None]
