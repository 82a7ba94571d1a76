"""`keyfence reshard`, `move`, `migrate keys|resume|show`."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli import job_progress
from keyfence.cli.connection import Data, EndpointUrl
from keyfence.cli.job_progress import AsJson, UnitRate, migrator_access, run_job_command
from keyfence.cli.operator import By, operator_name
from keyfence.local.data_directory import DEFAULT
from keyfence.tenancy.tenant import Placement

if TYPE_CHECKING:
    from keyfence.jobs.job import Job, JobId
    from keyfence.jobs.migrator import MigratorAccess


Only = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="Of one tenant, not of all.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Of one type, such as User.")]
Segments = Annotated[int, typer.Option(min=1, max=64, help="How many parts of the table are gone over at once.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what is wrong, and change nothing.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The migration, mig_ and 26 characters.")]


def keys(
    tenant: Only = None,
    type: Type = None,
    segments: Segments = 4,
    rate: UnitRate = None,
    dry_run: DryRun = False,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Put every item into the index partitions that its declaration says, after an index was added or changed.

    On AWS it runs as the migrator, and changes items as the tenant whose they are. The service may run meanwhile.
    It can be interrupted at any time: keyfence migrate resume goes on.

    [bold]Example:[/bold] keyfence migrate keys --dry-run

    [bold]Example:[/bold] keyfence migrate keys --tenant acme --type User --rate 200 --json
    """
    from keyfence.jobs.lease import JobStore
    from keyfence.jobs.rekey import new_rekey_job
    from keyfence.tenancy.repository import parse_tenant_id

    whose = parse_tenant_id(tenant, "tenant") if tenant else None

    async def begin(migrator: "MigratorAccess") -> "Job":
        entities = migrator.tables.entities
        made = new_rekey_job(whose, entities, by=operator_name(by), type=type, segments=segments, dry_run=dry_run)
        return await JobStore(migrator.control).add(made)

    job_progress.print_job(run_job_command(begin, data, endpoint_url, rate), as_json=json)


def resume(
    id: Id, rate: UnitRate = None, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Go on with a migration that was interrupted, from where it was.

    [bold]Example:[/bold] keyfence migrate resume mig_01M7HHHGKHN6S6V7032B0W8CKZ
    """
    from keyfence.jobs.lease import JobStore, parse_job_id

    wanted = parse_job_id(id)

    async def find(migrator: "MigratorAccess") -> "Job":
        return await JobStore(migrator.control).get(wanted)

    job_progress.print_job(run_job_command(find, data, endpoint_url, rate), as_json=json)


def show(id: Id, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Show what a migration is doing, or has done.

    [bold]Example:[/bold] keyfence migrate show mig_01M7HHHGKHN6S6V7032B0W8CKZ --json
    """
    import asyncio

    from keyfence.jobs.lease import parse_job_id

    wanted = parse_job_id(id)
    with migrator_access(data, endpoint_url) as (migrator, _):
        found = asyncio.run(_found(migrator, wanted))
    job_progress.print_job(found, as_json=json)


async def _found(migrator: "MigratorAccess", id: "JobId") -> "Job":
    from keyfence.jobs.lease import JobStore

    return await JobStore(migrator.control).get(id)


migrate = typer.Typer(
    name="migrate",
    help="Migrations: change many items while the service runs, go on with what was interrupted, see how far it is.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in (keys, resume, show):
    migrate.command()(command)


ReshardTenant = Annotated[str, typer.Argument(metavar="TENANT", help="Whose collection it is.")]
Collection = Annotated[str, typer.Argument(help="The collection, as `keyfence tenant show` names it.")]
Shards = Annotated[int, typer.Argument(min=1, max=256, help="How many shards it is to have.")]
Rebalance = Annotated[bool, typer.Option("--rebalance", help="Keep their number, and spread what is there over them.")]


def reshard(
    tenant: ReshardTenant,
    collection: Collection,
    shards: Shards,
    rebalance: Rebalance = False,
    rate: UnitRate = None,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Give a collection of a tenant more shards or fewer, or spread its items over those that it has.

    More shards move nothing: reads look into them first, and when every server knows, writes use them. Fewer, and
    --rebalance, move items, no faster than --rate. Nobody notices but by how fast it is. On AWS it runs as the
    migrator. It can be interrupted at any time: the same command goes on.

    [bold]Example:[/bold] keyfence reshard acme activity 8

    [bold]Example:[/bold] keyfence reshard acme users 2 --rate 200 --json
    """
    from keyfence.tenancy.repository import parse_tenant_id

    id = parse_tenant_id(tenant, "tenant")

    async def begin(migrator: "MigratorAccess") -> "Job | None":
        from keyfence.jobs.reshard.start import StartReshard
        from keyfence.tenancy.repository import TenantRepository

        found: list[Job] = []
        register, collections = (
            TenantRepository(migrator.control, operator_name(by)),
            migrator.tables.entities.collections,
        )
        reshards = StartReshard(register, collections, carry_on=found.append)
        await reshards(id, collection, shards, rebalance=rebalance)
        return found[0] if found else None

    words = f"{collection} of {id} has {shards} {'shard' if shards == 1 else 'shards'} already."
    job_progress.print_job(run_job_command(begin, data, endpoint_url, rate), as_json=json, nothing=words)


MovingTenant = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant that moves.")]
To = Annotated[Placement, typer.Argument(case_sensitive=False, help="A table of its own, or the one of all.")]


def move(
    tenant: MovingTenant,
    to: To,
    rate: UnitRate = None,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Move a tenant to a table of its own (SILO), or back among the others (POOL), while it is served.

    Its servers write to both tables, everything is copied and compared, they read the new table, and what is left in
    the old one goes. Until then the move can be called off: ask for where the tenant came from. On AWS it runs as the
    migrator. It can be interrupted at any time: the same command goes on.

    [bold]Example:[/bold] keyfence move acme silo

    [bold]Example:[/bold] keyfence move acme pool --rate 500 --json
    """
    from keyfence.tenancy.repository import parse_tenant_id

    id = parse_tenant_id(tenant, "tenant")

    async def begin(migrator: "MigratorAccess") -> "Job | None":
        from keyfence.jobs.move.start import StartMove
        from keyfence.tenancy.repository import TenantRepository

        register = TenantRepository(migrator.control, operator_name(by))
        found = await register.get(id)
        if found.move is None and found.placement is to:
            return None
        return await StartMove(register)(id, to)

    job_progress.print_job(
        run_job_command(begin, data, endpoint_url, rate), as_json=json, nothing=f"{id} is in the {to} already."
    )
