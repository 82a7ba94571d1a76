"""Every fence's credentials, vended; what vending refuses is said in the service's words."""

from dataclasses import dataclass
from math import ceil

from keyfence.errors import Internal, Throttled
from keyfence.store.calls import CredentialSource
from keyfence_iam.boundary import TenantId
from keyfence_iam.credentials import Credentials
from keyfence_iam.vending import Vending
from keyfence_iam.vending.refusal import NoSession, OverBudget
from keyfence_iam.vending.wanted import Placement, Wanted, of_control_plane, of_migration, of_tenant


@dataclass(frozen=True, slots=True)
class Vended:
    """Who only reads gets a session that cannot write, and nobody one for a table that its items are not in."""

    vending: Vending

    def tenant(self, tenant: TenantId, *, writes: bool, placement: Placement = Placement.POOL) -> CredentialSource:
        return Sessions(self.vending, of_tenant(tenant, writes=writes, placement=placement))

    def control(self, *, writes: bool) -> CredentialSource:
        return Sessions(self.vending, of_control_plane(writes=writes))


@dataclass(frozen=True, slots=True)
class VendedToMigrator:
    """The migrator becomes tenants by a role of its own, which works while they are suspended."""

    vending: Vending

    def tenant(self, tenant: TenantId, *, writes: bool, placement: Placement = Placement.POOL) -> CredentialSource:
        if not writes:
            raise TypeError("the migrator becomes tenants to write")
        return Sessions(self.vending, of_migration(tenant, placement=placement))

    def control(self, *, writes: bool) -> CredentialSource:
        return Sessions(self.vending, of_control_plane(writes=writes))


@dataclass(frozen=True, slots=True)
class Sessions:
    """The credentials of one fence."""

    vending: Vending
    wanted: Wanted

    async def __call__(self) -> Credentials:
        try:
            return await self.vending.credentials(self.wanted)
        except OverBudget as refusal:
            wait = ceil(refusal.retry_after * 1000)
            raise Throttled("too many tenants begin to be served just now; retry shortly", retryAfterMs=wait) from None
        except NoSession as refusal:
            wanted = self.wanted
            raise Internal(f"no session of {wanted.role} for {wanted.tenant}: {refusal}") from refusal

    async def replacement(self, refused: Credentials) -> Credentials | None:
        return await self.vending.replacement(self.wanted, refused)
