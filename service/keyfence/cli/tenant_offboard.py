"""keyfence tenant offboard: a tenant's items into a file, out of the table, and a certificate of it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli import offboarded
from keyfence.cli.migrating import AsJson, UnitRate, exports_of, migrating, settling, signing
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_operator import By, operator
from keyfence.errors import KeyfenceError
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.operations.offboarding.beginning import Departure
    from keyfence.operations.offboarding.worker import Means
    from keyfence.tenancy.offboarding import Job
    from keyfence_iam.boundary import TenantId

INTERRUPTED = 130

Id = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant that goes.")]
Confirm = Annotated[str, typer.Option(metavar="TENANT", help="The same again: there is no way back.")]
Exports = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the export is kept; KEYFENCE_EXPORTS, or in --data.")
]


def offboard(
    id: Id,
    confirm: Confirm = "",
    rate: UnitRate = None,
    exports: Exports = None,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Shut a tenant out, export all its items, purge them, look into every index, and certify that it is gone.

    On AWS it runs as the migrator. It can be interrupted at any time: the same command goes on, on the same machine,
    since the export's file is there. While one is at it, another is refused.

    [bold]Example:[/bold] keyfence tenant offboard acme --confirm acme

    [bold]Example:[/bold] keyfence tenant offboard acme --confirm acme --rate 200 --exports /srv/exports --json
    """
    from keyfence.tenancy.repository import checked_tenant

    tenant, begun = checked_tenant(id), time.monotonic()
    with migrating(data, endpoint_url) as (migrator, settings):
        where, signer = exports_of(settings, data, exports), signing(settings, data)
        pace = rate or settings.migration_units_per_second
        means = migrator.means(by=operator(by), exports=where, signer=signer, settle=settling(settings), rate=pace)
        departure = _run(means, tenant, confirm)
    offboarded.done(departure, signer, where, time.monotonic() - begun, as_json=json)


def _run(means: "Means", tenant: "TenantId", confirm: str) -> "Departure":
    import asyncio
    from dataclasses import replace

    from keyfence.cli.signals import interruptible

    last: Job | None = None

    def heard(job: "Job") -> None:
        nonlocal last
        last = job
        tell(job)

    try:
        with interruptible(), offboarded.followed(tenant) as tell:
            return asyncio.run(_work(replace(means, tell=heard), tenant, confirm))
    except KeyboardInterrupt:
        typer.echo(offboarded.stopped("Interrupted", last), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except KeyfenceError as error:
        raise KeyfenceError(offboarded.stopped(error.message, last)) if last else error from error


async def _work(means: "Means", tenant: "TenantId", confirm: str) -> "Departure":
    from keyfence.operations.offboarding.beginning import Beginning, Departure
    from keyfence.operations.offboarding.worker import Worker

    await Beginning(means.register, means.suspensions)(tenant, confirm)
    job = await Worker(means).run(tenant)
    return Departure(tenant=await means.register.get(tenant), job=job)
