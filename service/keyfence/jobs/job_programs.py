"""`program_for`: makes the program of a job, which depends on the kind of the job."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from keyfence.errors import Conflict
from keyfence.jobs.job_record import Job, JobKind
from keyfence.jobs.job_runner import JobProgram
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.move_job import MoveJob
from keyfence.jobs.move.read_differences import ReadDifferences
from keyfence.jobs.offboard.certificate import CertificateSigner
from keyfence.jobs.offboard.offboard_job import OffboardJob
from keyfence.jobs.rekey.rekey_job import RekeyJob
from keyfence.jobs.reshard.reshard_job import ReshardJob
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId

OnTenantChanged = Callable[[Tenant], None]
"""A function that receives the stored tenant after a job has changed the tenant."""


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """The directory in which offboardings write their exports, and the key that signs their certificates."""

    directory: Path
    signer: CertificateSigner


def program_for(
    job: Job,
    migrator: MigratorAccess,
    exports: ExportTarget | None = None,
    on_tenant_changed: OnTenantChanged = lambda _: None,
) -> JobProgram:
    """Returns the program of a job. Raises Conflict for an offboarding if `exports` is None."""
    tenants = TenantRepository(migrator.control, job.created_by)
    match job.kind:
        case JobKind.REKEY:
            return rekey_program(migrator)
        case JobKind.RESHARD:
            return ReshardJob(
                tenants=tenants,
                location=migrator.location,
                table_at=migrator.table_at,
                settle_time=migrator.settle_time,
                entities=migrator.tables.entities,
                on_tenant_changed=on_tenant_changed,
            )
        case JobKind.MOVE:
            return MoveJob(
                tenants=tenants,
                differences=ReadDifferences(migrator.control),
                silos=migrator.silos,
                table_name=migrator.table_name,
                table_in=migrator.table_in,
                table_for_both=migrator.table_for_both,
                settle_time=migrator.settle_time,
                on_tenant_changed=on_tenant_changed,
            )
        case JobKind.OFFBOARD:
            if exports is None:
                raise Conflict("an offboarding needs KEYFENCE_EXPORTS and KEYFENCE_SIGNING_KEY")
            return OffboardJob(
                tenants=tenants,
                suspensions=SuspensionPublisher(migrator.control, migrator.publish_suspensions),
                table_in=migrator.table_in,
                drop_silo=migrator.silos.drop,
                export_directory=exports.directory,
                signer=exports.signer,
                settle_time=migrator.settle_time,
                on_tenant_changed=on_tenant_changed,
            )


def rekey_program(migrator: MigratorAccess) -> RekeyJob:
    """Returns the program of a re-key run.

    The program uses a cached tenant for as long as a server does, and never longer than the settle time."""
    cache = migrator.tenant_cache()

    async def location(tenant: TenantId) -> TenantLocation:
        return cache.location(await cache.get(tenant))

    return RekeyJob(
        location=location,
        table_at=migrator.table_at,
        fence_of=migrator.tables.fence_of,
        tenants_in_silos=migrator.tenants_in_silos,
        entities=migrator.tables.entities,
    )
