"""Offboarding as operators ask for it."""

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.tenants import Tenant
from keyfence.operations.offboarding.beginning import Departure
from keyfence.tenancy.offboarding import Phase
from keyfence.tenancy.repository import checked_tenant

strawberry.enum(Phase, name="OffboardingPhase", description="What is to be done next of an offboarding.")


@strawberry.type(description="A tenant that leaves, and how far it has come.")
class Offboarding:
    """The certificate is there when nothing of the tenant is."""

    tenant: Tenant
    phase: Phase
    export_uri: str | None
    items_exported: int
    items_purged: int
    certificate: JSON | None

    @classmethod
    def of(cls, departure: Departure) -> "Offboarding":
        job = departure.job
        finished = job.certificate if job.phase is Phase.FINISHED else None
        return cls(
            tenant=Tenant.of(departure.tenant),
            phase=job.phase,
            export_uri=job.uri,
            items_exported=job.lines,
            items_purged=job.purged,
            certificate=JSON(orjson.loads(finished)) if finished else None,
        )


@strawberry.type
class OffboardingMutations:
    """How tenants go."""

    @strawberry.mutation(
        description="Shut the tenant out at once, export it, purge it and certify it. Asked again it goes on, or "
        "answers how far `keyfence tenant offboard` has come. `confirm` is the tenant's id."
    )
    async def offboard_tenant(self, info: Info, id: strawberry.ID, confirm: strawberry.ID) -> Offboarding:
        return Offboarding.of(await info.context.offboarding(checked_tenant(id), confirm))
