"""`keyfence tenant offboard`."""

import json as json_module
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.job_command import ExportsOption, UnitRateOption, export_target, run_job_command
from keyfence.cli.operator_session import OperatorOption, operator_name
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, aws_access, parse_tenant_option
from keyfence.errors import Internal
from keyfence.local.data_directory import DEFAULT_DIRECTORY

if TYPE_CHECKING:
    from keyfence.jobs.job_programs import ExportTarget
    from keyfence.jobs.job_record import Job
    from keyfence.jobs.migrator_access import MigratorAccess

OffboardedTenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="The id of the tenant to offboard.")]
ConfirmOption = Annotated[
    str, typer.Option(metavar="TENANT", help="The same id again, as a confirmation: an offboarding cannot be undone.")
]


def offboard(
    id: OffboardedTenantArgument,
    confirm: ConfirmOption = "",
    rate: UnitRateOption = None,
    exports: ExportsOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Export all items of a tenant to a file, delete them, and write a signed certificate that none is left.

    The tenant is denied access first. On AWS the command needs the role `migrator`. It can be interrupted at any time:
    the same command resumes it, on the machine that has the export file. Only one command at a time can work on a
    tenant. `keyfence tenant verify` checks the certificate and the export.

    [bold]Example:[/bold] keyfence tenant offboard acme --confirm acme

    [bold]Example:[/bold] keyfence tenant offboard acme --confirm acme --rate 200 --exports /srv/exports --json
    """
    tenant, started_at = parse_tenant_option(id, "TENANT"), time.monotonic()
    target = export_target(aws_access(data, endpoint_url).settings, data, exports)

    async def start(migrator: "MigratorAccess") -> "Job":
        from keyfence.jobs.offboard.start_offboarding import StartOffboarding
        from keyfence.tenancy.repository import TenantRepository
        from keyfence.tenancy.suspensions import SuspensionPublisher

        control = migrator.control
        tenants = TenantRepository(control, operator_name(operator))
        suspensions = SuspensionPublisher(control, migrator.publish_suspensions)
        return (await StartOffboarding(tenants, suspensions)(tenant, confirm)).job

    job = run_job_command(start, data, endpoint_url, rate, exports)
    if job is None:
        raise Internal("the offboarding did not return a job")
    _print_result(job, target, time.monotonic() - started_at, as_json=json)


def _print_result(job: "Job", target: "ExportTarget", seconds: float, *, as_json: bool) -> None:
    from keyfence.jobs.offboard.certificate import certificate_path
    from keyfence.jobs.offboard.offboarding_phases import state_of

    state, verifier = state_of(job), target.signer.verifier
    if as_json:
        document = {
            "tenant": job.tenant,
            "job": job.id,
            "phase": job.phase,
            "exportUri": state.export_uri,
            "itemsExported": state.exported_count,
            "itemsPurged": state.purged_count,
            "rounds": job.round,
            "certificate": json_module.loads(state.certificate) if state.certificate else None,
            "key": verifier.public_key_text,
            "seconds": round(seconds, 3),
        }
        typer.echo(json_module.dumps(document))
        return
    certificate: Path = certificate_path(target.directory, state.export_name)
    typer.echo(f"{job.tenant} is offboarded: {state.exported_count:,} items exported and purged in {seconds:.1f} s.")
    typer.echo(f"Export       {state.export_uri}")
    typer.echo(f"Certificate  {certificate}, signed with the key {verifier.kid}")
