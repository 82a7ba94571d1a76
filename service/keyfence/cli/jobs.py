"""`keyfence reshard`, `keyfence move`, `keyfence rekey`, and `keyfence job` with `list`, `show` and `resume`."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.job_command import ExportsOption, UnitRateOption, run_job_command
from keyfence.cli.job_progress import print_job
from keyfence.cli.operator_session import OperatorOption, OperatorSession, TenantArgument, operator_name
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, parse_tenant_option
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence.tenancy.placement import Placement

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.jobs.job_record import Job
    from keyfence.jobs.migrator_access import MigratorAccess


OnlyTenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="Only items of this tenant. Default: all tenants.")
]
TypeOption = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Only items of this type, such as User. Default: all types."),
]
SegmentsOption = Annotated[int, typer.Option(min=1, max=64, help="Scan this many segments of the table in parallel.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only count the items with wrong keys. Change nothing.")]
JobIdArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="The job's id: job_ and 26 characters. `keyfence job list` shows it.")
]
CollectionArgument = Annotated[
    str,
    typer.Argument(help="The collection, such as users. `keyfence tenant show TENANT --json` lists all collections."),
]
ShardsArgument = Annotated[int, typer.Argument(min=1, max=256, help="The number of shards that the collection gets.")]
RebalanceOption = Annotated[
    bool,
    typer.Option("--rebalance", help="Spread the items evenly over the shards. SHARDS must be their current number."),
]
PlacementArgument = Annotated[
    Placement, typer.Argument(case_sensitive=False, help="SILO: a table for this tenant alone. POOL: the shared table.")
]
JobsOfTenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="Only jobs of this tenant. Default: all tenants.")
]
LimitOption = Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Show at most N jobs.")]

HEADINGS = ("JOB", "KIND", "TENANT", "PHASE", "DONE", "CHANGED", "STARTED")

job = typer.Typer(
    name="job",
    help="List, show and resume jobs: reshards, moves, re-keys and offboardings.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def reshard(
    tenant: TenantArgument,
    collection: CollectionArgument,
    shards: ShardsArgument,
    rebalance: RebalanceOption = False,
    rate: UnitRateOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Change the number of shards of a tenant's collection while the tenant is served.

    An increase moves no items: first all servers read the new shards, then they also write to them. A decrease, and
    --rebalance, move items, at most as fast as --rate allows. On AWS the command needs the role `migrator`. It can be
    interrupted at any time: the same command resumes it.

    [bold]Example:[/bold] keyfence reshard acme activity 8

    [bold]Example:[/bold] keyfence reshard acme users 2 --rate 200 --json
    """
    tenant_id = parse_tenant_option(tenant, "TENANT")

    async def start(migrator: "MigratorAccess") -> "Job | None":
        from keyfence.jobs.reshard.start_reshard import StartReshard
        from keyfence.tenancy.repository import TenantRepository

        started_jobs: list[Job] = []
        tenants = TenantRepository(migrator.control, operator_name(operator))
        collections = migrator.tables.entities.collections
        start_reshard = StartReshard(tenants, collections, run_in_background=started_jobs.append)
        await start_reshard(tenant_id, collection, shards, rebalance=rebalance)
        return started_jobs[0] if started_jobs else None

    nothing_to_do = f"{collection} of {tenant_id} already has {shards} {'shard' if shards == 1 else 'shards'}."
    print_job(run_job_command(start, data, endpoint_url, rate), as_json=json, nothing_to_do=nothing_to_do)


def move(
    tenant: TenantArgument,
    placement: PlacementArgument,
    rate: UnitRateOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Move a tenant to a table of its own (SILO), or back to the shared table (POOL), while it is served.

    First, servers write to both tables. Then all items are copied and compared. Then servers read from the new table.
    Finally the items in the old table are deleted. To cancel before that, run the command again with the placement that
    the tenant had before. On AWS the command needs the role `migrator`. It can be interrupted at any time: the same
    command resumes it.

    [bold]Example:[/bold] keyfence move acme silo

    [bold]Example:[/bold] keyfence move acme pool --rate 500 --json
    """
    tenant_id = parse_tenant_option(tenant, "TENANT")

    async def start(migrator: "MigratorAccess") -> "Job | None":
        from keyfence.jobs.move.start_move import StartMove
        from keyfence.tenancy.repository import TenantRepository

        tenants = TenantRepository(migrator.control, operator_name(operator))
        stored_tenant = await tenants.get(tenant_id)
        if stored_tenant.move is None and stored_tenant.placement is placement:
            return None
        return await StartMove(tenants)(tenant_id, placement)

    nothing_to_do = f"{tenant_id} is already in the {placement}."
    print_job(run_job_command(start, data, endpoint_url, rate), as_json=json, nothing_to_do=nothing_to_do)


def rekey(
    tenant: OnlyTenantOption = None,
    type: TypeOption = None,
    segments: SegmentsOption = 4,
    rate: UnitRateOption = None,
    dry_run: DryRunOption = False,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Correct the index keys of stored items after an index was added or a key template was changed.

    Tenants are served meanwhile. Each item is changed with the credentials of its tenant. On AWS the command needs the
    role `migrator`. It can be interrupted at any time: `keyfence job resume` resumes it.

    [bold]Example:[/bold] keyfence rekey --dry-run

    [bold]Example:[/bold] keyfence rekey --tenant acme --type User --rate 200 --json
    """
    from keyfence.jobs.job_repository import JobRepository
    from keyfence.jobs.rekey.rekey_job import new_rekey_job

    tenant_id = parse_tenant_option(tenant) if tenant else None

    async def start(migrator: "MigratorAccess") -> "Job":
        new_job = new_rekey_job(
            tenant_id,
            migrator.tables.entities,
            created_by=operator_name(operator),
            type=type,
            segments=segments,
            dry_run=dry_run,
        )
        return await JobRepository(migrator.control).add(new_job)

    print_job(run_job_command(start, data, endpoint_url, rate), as_json=json)


@job.command("list")
def list_(
    tenant: JobsOfTenantOption = None,
    limit: LimitOption = 20,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """List jobs of all kinds, the newest first. On a laptop `keyfence dev` must run.

    [bold]Example:[/bold] keyfence job list

    [bold]Example:[/bold] keyfence job list --tenant acme --json
    """
    from keyfence.cli.job_progress import job_json
    from keyfence.cli.terminal_output import print_json

    tenant_id = parse_tenant_option(tenant) if tenant else None

    async def read(context: "AdminContext") -> "list[Job]":
        return list((await context.jobs.newest(tenant_id, first=limit)).items)

    jobs = OperatorSession(data, endpoint_url).read(read)
    if json:
        print_json({"jobs": [job_json(job) for job in jobs]})
    elif jobs:
        _print_jobs(jobs)
    else:
        typer.echo("There are no jobs.", err=True)


def _print_jobs(jobs: "list[Job]") -> None:
    from keyfence.cli.terminal_output import console, format_minute, print_table
    from keyfence.jobs.progress_estimate import progress_of

    rows = []
    for job in jobs:
        percent = progress_of(job).percent
        done = "" if percent is None else f"{percent:.0f} %"
        changed, started = f"{job.items_changed:,}", format_minute(job.created_at)
        rows.append((job.id, job.kind, job.tenant, job.phase, done, changed, started))
    print_table(console(), HEADINGS, rows, numbers=("DONE", "CHANGED"))


@job.command()
def show(
    id: JobIdArgument,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Show the phase of a job, and how many items it has read and changed.

    [bold]Example:[/bold] keyfence job show job_01M7HHHGKHN6S6V7032B0W8CKZ --json
    """
    from keyfence.jobs.job_repository import parse_job_id

    job_id = parse_job_id(id)

    async def read(context: "AdminContext") -> "Job":
        return await context.jobs.get(job_id)

    print_job(OperatorSession(data, endpoint_url).read(read), as_json=json)


@job.command()
def resume(
    id: JobIdArgument,
    rate: UnitRateOption = None,
    exports: ExportsOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Resume an interrupted job from where it stopped.

    On AWS the command needs the role `migrator`. An offboarding must be resumed on the machine that has its export
    file.

    [bold]Example:[/bold] keyfence job resume job_01M7HHHGKHN6S6V7032B0W8CKZ
    """
    from keyfence.jobs.job_repository import JobRepository, parse_job_id

    job_id = parse_job_id(id)

    async def find(migrator: "MigratorAccess") -> "Job":
        return await JobRepository(migrator.control).get(job_id)

    print_job(run_job_command(find, data, endpoint_url, rate, exports), as_json=json)
