"""`keyfence tenant list` and `keyfence tenant show`."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.operator_session import OperatorSession, TenantArgument, tenant_not_found
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, parse_tenant_option
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence.store.pagination import MAX_PAGE_SIZE
from keyfence.tenancy.tenant_status import TenantStatus

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.store.shards import ShardCounts
    from keyfence.tenancy.repository import TenantRepository
    from keyfence.tenancy.tenant import Tenant
    from keyfence.tenancy.tenant_events import TenantEvent


HEADINGS = ("ID", "STATUS", "TIER", "CREATED", "NAME")
MIN_WIDTHS = (16, 12, 10, 16)
"""The widths of the first columns, in characters. Each page is a table of its own, and all pages need equal columns."""

StatusOption = Annotated[
    TenantStatus | None, typer.Option(case_sensitive=False, help="Only tenants with this status. Default: all.")
]
LimitOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the newest N tenants. Default: all.")]


def list_(
    status: StatusOption = None,
    limit: LimitOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """List tenants, the newest first.

    [bold]Example:[/bold] keyfence tenant list

    [bold]Example:[/bold] keyfence tenant list --status suspended --limit 20

    [bold]Example:[/bold] keyfence tenant list --json | jq -r '.tenants[].id'
    """
    from keyfence.cli.tenant_json import tenant_json
    from keyfence.cli.terminal_output import print_json

    async def work(context: "AdminContext") -> "list[Tenant]":
        """Prints each page as soon as it is read, unless the output is JSON."""
        tenants: list[Tenant] = []
        async for page in tenant_pages(context.tenants, status, limit):
            if not json:
                _print_page(page, with_headings=not tenants)
            tenants += page
        return tenants

    tenants = OperatorSession(data, endpoint_url).read(work)
    if json:
        print_json({"tenants": [tenant_json(tenant) for tenant in tenants]})
    else:
        typer.echo(f"{len(tenants):,} {'tenant' if len(tenants) == 1 else 'tenants'}.", err=True)


async def tenant_pages(
    repository: "TenantRepository", status: TenantStatus | None, limit: int | None
) -> "AsyncIterator[Sequence[Tenant]]":
    """Yields pages of tenants, the newest first, with at most `limit` tenants in all pages together."""
    cursor, remaining_count = None, limit
    while True:
        page_size = min(MAX_PAGE_SIZE, remaining_count or MAX_PAGE_SIZE)
        page = await repository.newest(status=status, first=page_size, after=cursor)
        yield page.items
        remaining_count = None if remaining_count is None else remaining_count - len(page.edges)
        if remaining_count == 0 or not page.has_next or not page.edges:
            return
        cursor = page.edges[-1].cursor()


def _print_page(tenants: "Sequence[Tenant]", *, with_headings: bool) -> None:
    from keyfence.cli.terminal_output import colored_status, console, escape_markup, format_minute, print_table

    rows = [
        (
            tenant.id,
            colored_status(tenant.status),
            tenant.tier,
            format_minute(tenant.created_at),
            escape_markup(tenant.name),
        )
        for tenant in tenants
    ]
    if rows:
        headings = HEADINGS if with_headings else ("",) * len(HEADINGS)
        print_table(console(), headings, rows, min_widths=MIN_WIDTHS)


EventsOption = Annotated[
    int, typer.Option(min=1, max=MAX_PAGE_SIZE, metavar="N", help="Show the latest N events of the tenant.")
]


def show(
    id: TenantArgument,
    events: EventsOption = 10,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Show a tenant: its status, quotas, shards, issuer and latest events.

    [bold]Example:[/bold] keyfence tenant show acme

    [bold]Example:[/bold] keyfence tenant show acme --events 100 --json
    """
    from keyfence.cli.tenant_json import event_json, shards_json, tenant_json
    from keyfence.cli.terminal_output import print_json

    tenant_id = parse_tenant_option(id, "TENANT")

    async def work(context: "AdminContext") -> "tuple[Tenant, Sequence[TenantEvent], Mapping[str, ShardCounts]]":
        if (tenant := await context.tenants.find(tenant_id)) is None:
            raise tenant_not_found(tenant_id)
        latest_events = await context.tenants.events(tenant_id, first=events, after=None)
        return tenant, latest_events.items, context.start_reshard.collections.all_counts(tenant.shards)

    tenant, latest_events, shard_counts = OperatorSession(data, endpoint_url).read(work)
    if json:
        details = {"shards": shards_json(shard_counts), "events": [event_json(event) for event in latest_events]}
        print_json({**tenant_json(tenant), **details})
    else:
        _print_tenant(tenant, latest_events, shard_counts)


def _print_tenant(tenant: "Tenant", events: "Sequence[TenantEvent]", shard_counts: "Mapping[str, ShardCounts]") -> None:
    from keyfence.cli.terminal_output import console, print_table

    out = console()
    print_table(out, ("", ""), _attribute_rows(tenant))
    out.print()
    print_table(out, ("QUOTA", "ALLOWED", "FROM"), _quota_rows(tenant), numbers=("ALLOWED",))
    out.print()
    shard_headings = ("SHARDS OF", "READ", "WRITTEN", "CHANGED BY")
    print_table(out, shard_headings, _shard_rows(shard_counts), numbers=("READ", "WRITTEN"))
    out.print()
    print_table(out, ("AT", "EVENT", "BY", "DETAIL"), _event_rows(events))


def _attribute_rows(tenant: "Tenant") -> Iterator[tuple[str, str]]:
    from keyfence.cli.terminal_output import colored_status, escape_markup, format_minute

    yield "Tenant", f"[bold]{tenant.id}[/bold]"
    yield "Name", escape_markup(tenant.name)
    yield "Status", colored_status(tenant.status) + (f": {escape_markup(tenant.reason)}" if tenant.reason else "")
    yield "Tier", tenant.tier
    yield "Placement", tenant.placement
    if tenant.move is not None:
        direction = "cancelled, back to" if tenant.move.is_cancelled else "to"
        yield "Moving", f"{direction} {tenant.move.final_placement}, {tenant.move.phase}, by {tenant.move.job_id}"
    yield "Issuer", escape_markup(tenant.issuer) or "none of its own"
    if tenant.origins:
        yield "Origins", ", ".join(sorted(tenant.origins))
    stored_text = (
        f"{tenant.stored_bytes:,} bytes at the last measurement" if tenant.stored_bytes else "not measured yet"
    )
    yield "Stored", stored_text
    yield "Created", f"{format_minute(tenant.created_at)} UTC"
    yield "Changed", f"{format_minute(tenant.updated_at)} UTC, version {tenant.version}"


def _quota_rows(tenant: "Tenant") -> Iterator[tuple[str, str, str]]:
    from keyfence.store.codec import attribute_name

    for name, value in asdict(tenant.quotas).items():
        is_override = getattr(tenant.overrides, name) is not None
        yield attribute_name(name), f"{value:,}", "this tenant" if is_override else f"tier {tenant.tier}"


def _shard_rows(shard_counts: "Mapping[str, ShardCounts]") -> Iterator[tuple[str, str, str, str]]:
    """Yields a row for each collection that was resharded, and one row for all other collections together."""
    from keyfence.store.shards import ONE_SHARD

    sharded_counts = {collection: counts for collection, counts in shard_counts.items() if counts != ONE_SHARD}
    for collection, counts in sharded_counts.items():
        yield collection, f"{counts.read_shards}", f"{counts.write_shards}", counts.job_id or ""
    if len(sharded_counts) < len(shard_counts):
        label = "all others" if sharded_counts else "all collections"
        yield label, f"{ONE_SHARD.read_shards}", f"{ONE_SHARD.write_shards}", ""


def _event_rows(events: "Sequence[TenantEvent]") -> Iterator[tuple[str, str, str, str]]:
    from keyfence.cli.terminal_output import escape_markup, format_minute

    for event in events:
        detail = "" if event.detail == "{}" else escape_markup(event.detail)
        yield format_minute(event.created_at), event.kind, escape_markup(event.by), detail
