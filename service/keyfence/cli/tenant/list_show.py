"""`list`, `show`."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.operator_session import Id, OperatorSession, tenant_not_found
from keyfence.cli.table_connection import Data, EndpointUrl, Json, parse_tenant_option
from keyfence.local.data_directory import DEFAULT
from keyfence.store.pagination import MAX_PAGE_SIZE
from keyfence.tenancy.tenant_status import TenantStatus

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.store.shards import ShardCounts
    from keyfence.tenancy.repository import TenantRepository
    from keyfence.tenancy.tenant import Tenant
    from keyfence.tenancy.tenant_events import TenantEvent


HEADINGS = ("ID", "STATUS", "TIER", "CREATED", "NAME")
WIDTHS = (16, 12, 10, 16)

Status = Annotated[
    TenantStatus | None, typer.Option(case_sensitive=False, help="Only those who stand there; all if left out.")
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="The newest N; all if left out.")]


def list_(
    status: Status = None,
    limit: Limit = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """List tenants, newest first, page by page as they are read.

    [bold]Example:[/bold] keyfence tenant list

    [bold]Example:[/bold] keyfence tenant list --status suspended --limit 20

    [bold]Example:[/bold] keyfence tenant list --json | jq -r '.tenants[].id'
    """
    from keyfence.cli.terminal_output import print_json, tenant_json

    async def work(desk: "AdminContext") -> "list[Tenant]":
        found: list[Tenant] = []
        async for some in pages(desk.tenants, status, limit):
            if not json:
                _print(some, headed=not found)
            found += some
        return found

    found = OperatorSession(data, endpoint_url).read(work)
    if json:
        print_json({"tenants": [tenant_json(one) for one in found]})
    else:
        typer.echo(f"{len(found):,} {'tenant' if len(found) == 1 else 'tenants'}.", err=True)


async def pages(
    tenants: "TenantRepository", status: TenantStatus | None, limit: int | None
) -> "AsyncIterator[Sequence[Tenant]]":
    after, left = None, limit
    while True:
        page = await tenants.newest(status=status, first=min(MAX_PAGE_SIZE, left or MAX_PAGE_SIZE), after=after)
        yield page.items
        left = None if left is None else left - len(page.edges)
        if left == 0 or not page.has_next or not page.edges:
            return
        after = page.edges[-1].cursor()


def _print(tenants: "Sequence[Tenant]", *, headed: bool) -> None:
    from keyfence.cli.terminal_output import colored_status, console, escape_markup, format_minute, print_table

    rows = [
        (one.id, colored_status(one.status), one.tier, format_minute(one.created_at), escape_markup(one.name))
        for one in tenants
    ]
    if rows:
        print_table(console(), HEADINGS if headed else ("",) * len(HEADINGS), rows, widths=WIDTHS)


Events = Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, metavar="N", help="How many of its latest events.")]


def show(
    id: Id, events: Events = 10, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Show a tenant: where it stands, its quotas, its shards, its issuer and its latest events.

    [bold]Example:[/bold] keyfence tenant show acme

    [bold]Example:[/bold] keyfence tenant show acme --events 100 --json
    """
    from keyfence.cli.terminal_output import event_json, print_json, shards_json, tenant_json

    tenant = parse_tenant_option(id, "TENANT")

    async def work(desk: "AdminContext") -> "tuple[Tenant, Sequence[TenantEvent], Mapping[str, ShardCounts]]":
        if (found := await desk.tenants.find(tenant)) is None:
            raise tenant_not_found(tenant)
        latest = await desk.tenants.events(tenant, first=events, after=None)
        return found, latest.items, desk.reshards.collections.all_counts(found.shards)

    found, happened, counts = OperatorSession(data, endpoint_url).read(work)
    if json:
        seen = {"shards": shards_json(counts), "events": [event_json(one) for one in happened]}
        print_json({**tenant_json(found), **seen})
    else:
        _print_tenant(found, happened, counts)


def _print_tenant(tenant: "Tenant", happened: "Sequence[TenantEvent]", counts: "Mapping[str, ShardCounts]") -> None:
    from keyfence.cli.terminal_output import console, print_table

    out = console()
    print_table(out, ("", ""), _facts(tenant))
    out.print()
    print_table(out, ("QUOTA", "ALLOWED", "FROM"), _quotas(tenant), numbers=("ALLOWED",))
    out.print()
    print_table(out, ("SHARDS OF", "READ", "WRITTEN", "CHANGED BY"), _shards(counts), numbers=("READ", "WRITTEN"))
    out.print()
    print_table(out, ("AT", "EVENT", "BY", "DETAIL"), _events(happened))


def _facts(tenant: "Tenant") -> Iterator[tuple[str, str]]:
    from keyfence.cli.terminal_output import colored_status, escape_markup, format_minute

    yield "Tenant", f"[bold]{tenant.id}[/bold]"
    yield "Name", escape_markup(tenant.name)
    yield "Status", colored_status(tenant.status) + (f": {escape_markup(tenant.reason)}" if tenant.reason else "")
    yield "Tier", tenant.tier
    yield "Placement", tenant.placement
    if tenant.move is not None:
        way = "cancelled, back to" if tenant.move.is_cancelled else "to"
        yield "Moving", f"{way} {tenant.move.goal}, {tenant.move.phase}, by {tenant.move.job_id}"
    yield "Issuer", escape_markup(tenant.issuer) or "none of its own"
    yield "Stored", f"{tenant.stored_bytes:,} bytes when last weighed" if tenant.stored_bytes else "not weighed yet"
    yield "Created", f"{format_minute(tenant.created_at)} UTC"
    yield "Changed", f"{format_minute(tenant.updated_at)} UTC, version {tenant.version}"


def _quotas(tenant: "Tenant") -> Iterator[tuple[str, str, str]]:
    from keyfence.store.codec import attribute_name

    for name, value in asdict(tenant.quotas).items():
        agreed = getattr(tenant.overrides, name) is not None
        yield attribute_name(name), f"{value:,}", "agreed" if agreed else f"tier {tenant.tier}"


def _shards(counts: "Mapping[str, ShardCounts]") -> Iterator[tuple[str, str, str, str]]:
    """Returns the collections that have more than one shard; there are many collections."""
    from keyfence.store.shards import ONE_SHARD

    grown = {name: one for name, one in counts.items() if one != ONE_SHARD}
    for name, one in grown.items():
        yield name, f"{one.read_shards}", f"{one.write_shards}", one.job_id or ""
    if len(grown) < len(counts):
        yield "all others" if grown else "all collections", f"{ONE_SHARD.read_shards}", f"{ONE_SHARD.write_shards}", ""


def _events(happened: "Sequence[TenantEvent]") -> Iterator[tuple[str, str, str, str]]:
    from keyfence.cli.terminal_output import escape_markup, format_minute

    for one in happened:
        yield (
            format_minute(one.created_at),
            one.kind,
            escape_markup(one.by),
            escape_markup(one.detail) if one.detail != "{}" else "",
        )
