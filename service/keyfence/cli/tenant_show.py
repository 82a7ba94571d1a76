"""keyfence tenant show: all that the control plane knows of a tenant."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_desk import Desk, Id, Json, checked_id, unknown
from keyfence.local.directory import DEFAULT
from keyfence.store.pagination import LARGEST

if TYPE_CHECKING:
    from keyfence.admin.context import Context
    from keyfence.tenancy.event import TenantEvent
    from keyfence.tenancy.model import Tenant

Events = Annotated[int, typer.Option(min=1, max=LARGEST, metavar="N", help="How many of its latest events.")]


def show(
    id: Id, events: Events = 10, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Show a tenant: where it stands, its quotas, its shards, its issuer and its latest events.

    [bold]Example:[/bold] keyfence tenant show acme

    [bold]Example:[/bold] keyfence tenant show acme --events 100 --json
    """
    from keyfence.cli.tenant_json import echo, event_json, shards_json, tenant_json

    tenant = checked_id(id)

    async def work(desk: "Context") -> "tuple[Tenant, Sequence[TenantEvent]]":
        if (found := await desk.register.find(tenant)) is None:
            raise unknown(tenant)
        return found, (await desk.register.events(tenant, first=events, after=None)).items

    found, happened = Desk(data, endpoint_url).read(work)
    if json:
        seen = {"shards": shards_json(found), "events": [event_json(one) for one in happened]}
        echo({**tenant_json(found), **seen})
    else:
        _print(found, happened)


def _print(tenant: "Tenant", happened: "Sequence[TenantEvent]") -> None:
    from keyfence.cli.tenant_table import console, lay

    out = console()
    lay(out, ("", ""), _facts(tenant))
    out.print()
    lay(out, ("QUOTA", "ALLOWED", "FROM"), _quotas(tenant), numbers=("ALLOWED",))
    out.print()
    lay(out, ("SHARDS OF", "READ", "WRITTEN", "CHANGED BY"), _shards(tenant), numbers=("READ", "WRITTEN"))
    out.print()
    lay(out, ("AT", "EVENT", "BY", "DETAIL"), _events(happened))


def _facts(tenant: "Tenant") -> Iterator[tuple[str, str]]:
    from keyfence.cli.tenant_table import minute, shown, status

    yield "Tenant", f"[bold]{tenant.id}[/bold]"
    yield "Name", shown(tenant.name)
    yield "Status", status(tenant.status) + (f": {shown(tenant.reason)}" if tenant.reason else "")
    yield "Tier", tenant.tier
    yield "Placement", tenant.placement
    if tenant.move is not None:
        way = "called off, back to" if tenant.move.back else "to"
        yield "Moving", f"{way} {tenant.move.goal}, {tenant.move.phase}, by {tenant.move.migration}"
    yield "Issuer", shown(tenant.issuer) or "none of its own"
    yield "Stored", f"{tenant.stored_bytes:,} bytes when last weighed" if tenant.stored_bytes else "not weighed yet"
    yield "Created", f"{minute(tenant.created_at)} UTC"
    yield "Changed", f"{minute(tenant.updated_at)} UTC, version {tenant.version}"


def _quotas(tenant: "Tenant") -> Iterator[tuple[str, str, str]]:
    from keyfence.store.codec import attribute

    for name, value in asdict(tenant.quotas).items():
        agreed = getattr(tenant.overrides, name) is not None
        yield attribute(name), f"{value:,}", "agreed" if agreed else f"tier {tenant.tier}"


def _shards(tenant: "Tenant") -> Iterator[tuple[str, str, str, str]]:
    """Those that differ from one slot; there are many collections."""
    from keyfence.store.shards import ONE
    from keyfence.tenancy.shard_counts import every_collection

    counts = every_collection(tenant.shards)
    grown = {name: one for name, one in counts.items() if one != ONE}
    for name, one in grown.items():
        yield name, f"{one.read_shards}", f"{one.write_shards}", one.migration or ""
    if len(grown) < len(counts):
        yield "all others" if grown else "all collections", f"{ONE.read_shards}", f"{ONE.write_shards}", ""


def _events(happened: "Sequence[TenantEvent]") -> Iterator[tuple[str, str, str, str]]:
    from keyfence.cli.tenant_table import minute, shown

    for one in happened:
        yield minute(one.created_at), one.kind, shown(one.by), shown(one.detail) if one.detail != "{}" else ""
