"""`keyfence reshard`, `move`, `rekey`, and `keyfence job list|show|resume`."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.job_progress import ExportsOption, UnitRateOption, print_job, run_job_command
from keyfence.cli.operator_session import OperatorOption, OperatorSession, operator_name
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, parse_tenant_option
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence.tenancy.placement import Placement

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.jobs.job_record import Job
    from keyfence.jobs.migrator_access import MigratorAccess


OnlyTenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="Only items of this tenant; of all if left out.")
]
TypeOption = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Only items of this type, such as User; all if left out.")
]
SegmentsOption = Annotated[int, typer.Option(min=1, max=64, help="Scan this many segments of the table in parallel.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count the items with wrong keys, and change nothing.")]
JobIdArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="The job's id: job_ and 26 characters. `keyfence job list` shows it.")
]
TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id.")]
CollectionArgument = Annotated[str, typer.Argument(help="The collection, as `keyfence tenant show` names it.")]
ShardsArgument = Annotated[int, typer.Argument(min=1, max=256, help="How many shards the collection should have.")]
RebalanceOption = Annotated[
    bool, typer.Option("--rebalance", help="Keep the number of shards, and spread the items evenly over them.")
]
ToArgument = Annotated[
    Placement, typer.Argument(case_sensitive=False, help="SILO: a table of its own. POOL: the shared table.")
]
JobsOfTenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="Only jobs of this tenant; of all if left out.")
]
LimitOption = Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Show at most N jobs.")]

HEADINGS = ("JOB", "KIND", "TENANT", "PHASE", "DONE", "CHANGED", "STARTED")

job = typer.Typer(
    name="job",
    help="Manage long-running jobs.",
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

    More shards move no items: servers first read the new shards, and write to them when all servers know them. Fewer
    shards, and --rebalance, move items, at most as fast as --rate allows. On AWS the command runs as the migrator. It
    can be interrupted at any time: the same command resumes it.

    [bold]Example:[/bold] keyfence reshard acme activity 8

    [bold]Example:[/bold] keyfence reshard acme users 2 --rate 200 --json
    """
    id = parse_tenant_option(tenant, "TENANT")

    async def start(migrator: "MigratorAccess") -> "Job | None":
        from keyfence.jobs.reshard.start_reshard import StartReshard
        from keyfence.tenancy.repository import TenantRepository

        started: list[Job] = []
        tenants = TenantRepository(migrator.control, operator_name(operator))
        collections = migrator.tables.entities.collections
        reshards = StartReshard(tenants, collections, run_in_background=started.append)
        await reshards(id, collection, shards, rebalance=rebalance)
        return started[0] if started else None

    nothing = f"{collection} of {id} already has {shards} {'shard' if shards == 1 else 'shards'}."
    print_job(run_job_command(start, data, endpoint_url, rate), as_json=json, nothing=nothing)


def move(
    tenant: TenantArgument,
    to: ToArgument,
    rate: UnitRateOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Move a tenant to a table of its own (SILO), or back to the shared table (POOL), while it is served.

    Servers write to both tables, all items are copied and compared, servers read from the new table, and the old copy
    is deleted. To cancel before the old copy is deleted, run the command again with the placement that the tenant had
    before. On AWS the command runs as the migrator. It can be interrupted at any time: the same command resumes it.

    [bold]Example:[/bold] keyfence move acme silo

    [bold]Example:[/bold] keyfence move acme pool --rate 500 --json
    """
    id = parse_tenant_option(tenant, "TENANT")

    async def start(migrator: "MigratorAccess") -> "Job | None":
        from keyfence.jobs.move.start_move import StartMove
        from keyfence.tenancy.repository import TenantRepository

        tenants = TenantRepository(migrator.control, operator_name(operator))
        found = await tenants.get(id)
        if found.move is None and found.placement is to:
            return None
        return await StartMove(tenants)(id, to)

    nothing = f"{id} is already in the {to}."
    print_job(run_job_command(start, data, endpoint_url, rate), as_json=json, nothing=nothing)


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

    The service may run meanwhile. On AWS the command runs as the migrator, and changes each item with the credentials
    of its tenant. It can be interrupted at any time: `keyfence job resume` resumes it.

    [bold]Example:[/bold] keyfence rekey --dry-run

    [bold]Example:[/bold] keyfence rekey --tenant acme --type User --rate 200 --json
    """
    from keyfence.jobs.job_store import JobStore
    from keyfence.jobs.rekey.rekey_job import new_rekey_job

    owner = parse_tenant_option(tenant) if tenant else None

    async def start(migrator: "MigratorAccess") -> "Job":
        entities = migrator.tables.entities
        by_operator = operator_name(operator)
        made = new_rekey_job(owner, entities, created_by=by_operator, type=type, segments=segments, dry_run=dry_run)
        return await JobStore(migrator.control).add(made)

    print_job(run_job_command(start, data, endpoint_url, rate), as_json=json)


@job.command("list")
def list_(
    tenant: JobsOfTenantOption = None,
    limit: LimitOption = 20,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """List jobs of all kinds, the newest first.

    [bold]Example:[/bold] keyfence job list

    [bold]Example:[/bold] keyfence job list --tenant acme --json
    """
    from keyfence.cli.job_progress import job_json
    from keyfence.cli.terminal_output import print_json

    owner = parse_tenant_option(tenant) if tenant else None

    async def read(context: "AdminContext") -> "list[Job]":
        return list((await context.jobs.newest(owner, first=limit)).items)

    found = OperatorSession(data, endpoint_url).read(read)
    if json:
        print_json({"jobs": [job_json(one) for one in found]})
    elif found:
        _print_table(found)
    else:
        typer.echo("There are no jobs.", err=True)


def _print_table(found: "list[Job]") -> None:
    from keyfence.cli.terminal_output import console, format_minute, print_table
    from keyfence.jobs.progress_estimate import progress_of

    rows = []
    for one in found:
        percent = progress_of(one).percent
        done = "" if percent is None else f"{percent:.0f} %"
        numbers = (done, f"{one.items_changed:,}", format_minute(one.created_at))
        rows.append((one.id, one.kind, one.tenant, one.phase, *numbers))
    print_table(console(), HEADINGS, rows, numbers=("DONE", "CHANGED"))


@job.command()
def show(
    id: JobIdArgument,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Show what a job is doing, or what it has done.

    [bold]Example:[/bold] keyfence job show job_01M7HHHGKHN6S6V7032B0W8CKZ --json
    """
    from keyfence.jobs.job_store import parse_job_id

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
    """Resume a job that was interrupted, from where it was.

    An offboarding must be resumed on the machine that has its export file.

    [bold]Example:[/bold] keyfence job resume job_01M7HHHGKHN6S6V7032B0W8CKZ
    """
    from keyfence.jobs.job_store import JobStore, parse_job_id

    job_id = parse_job_id(id)

    async def find(migrator: "MigratorAccess") -> "Job":
        return await JobStore(migrator.control).get(job_id)

    print_job(run_job_command(find, data, endpoint_url, rate, exports), as_json=json)
