"""`keyfence tenant usage` and `keyfence tenant measure`."""

import json as plain
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.job_progress import UnitRate, migrator_access
from keyfence.cli.operator_session import OperatorSession, tenant_not_found
from keyfence.cli.table_connection import Data, EndpointUrl, Json, parse_tenant_option
from keyfence.local.data_directory import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from keyfence.admin.context import AdminContext
    from keyfence.jobs.storage_measurement import TenantStorage
    from keyfence.usage.hourly_usage import PriceTable, Usage, UsageCounts
    from keyfence_iam.tenant import TenantId


FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
HEADINGS = ("REQUESTS", "REFUSED", "READ UNITS", "WRITE UNITS", "THROTTLED CALLS", "USD")

Whose = Annotated[
    str | None,
    typer.Argument(metavar="TENANT", help="One tenant by operation, or - for the service itself; all if left out."),
]
From = Annotated[
    datetime | None,
    typer.Option("--from", formats=FORMATS, metavar="TIME", help="In UTC; the first of this month if left out."),
]
To = Annotated[datetime | None, typer.Option("--to", formats=FORMATS, metavar="TIME", help="In UTC; now if left out.")]


def usage(
    id: Whose = None,
    start: From = None,
    end: To = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Show what tenants used in whole hours: requests, units of DynamoDB, and money at the price table it names.

    Servers write it down every few seconds. The service's own use is told as the tenant [bold]-[/bold], so that all
    together are what the servers' calls cost.

    [bold]Example:[/bold] keyfence tenant usage

    [bold]Example:[/bold] keyfence tenant usage acme --from 2026-03-01 --to 2026-04-01 --json
    """
    from keyfence.usage.hourly_usage import CONTROL_PLANE

    now = datetime.now(UTC)
    low = start.replace(tzinfo=UTC) if start else now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    high = end.replace(tzinfo=UTC) if end else now
    whose = None if id is None else CONTROL_PLANE if id == CONTROL_PLANE else parse_tenant_option(id, "TENANT")

    async def work(desk: "AdminContext") -> "tuple[list[Usage], PriceTable]":
        found = [await desk.usage.between(one, low, high) for one in await _named(desk, whose)]
        return found, desk.prices

    found, prices = OperatorSession(data, endpoint_url).read(work)
    (_echo if json else _print)(found, prices, detailed=whose is not None)


async def _named(desk: "AdminContext", whose: "TenantId | None") -> "Sequence[TenantId]":
    from keyfence.cli.tenant.list_show import pages
    from keyfence.usage.hourly_usage import CONTROL_PLANE

    if whose is None:
        return [*[one.id async for some in pages(desk.tenants, None, None) for one in some], CONTROL_PLANE]
    if whose != CONTROL_PLANE and await desk.tenants.find(whose) is None:
        raise tenant_not_found(whose)
    return [whose]


def _echo(found: "Sequence[Usage]", prices: "PriceTable", *, detailed: bool) -> None:
    from keyfence.cli.terminal_output import format_timestamp, print_json

    table = {"region": prices.region, "asOf": f"{prices.as_of}", "read": f"{prices.read}", "write": f"{prices.write}"}
    start, end = format_timestamp(found[0].start), format_timestamp(found[0].end)
    told = [_json(one, prices, detailed=detailed) for one in found]
    print_json({"from": start, "to": end, "usdPerMillionUnits": table, "tenants": told})


def _json(one: "Usage", prices: "PriceTable", *, detailed: bool) -> dict[str, Any]:
    parts = {name: _counts(counts, prices) for name, counts in one.operations.items()} if detailed else {}
    return {"tenant": one.tenant, **_counts(one.total, prices), **({"operations": parts} if detailed else {})}


def _counts(counts: "UsageCounts", prices: "PriceTable") -> dict[str, Any]:
    return {
        "requests": counts.requests,
        "throttled": counts.refused,
        "readUnits": float(counts.read_units),
        "writeUnits": float(counts.write_units),
        "throttledCalls": counts.throttled_calls,
        "costUsd": float(prices.cost(counts.read_units, counts.write_units)),
    }


def _print(found: "Sequence[Usage]", prices: "PriceTable", *, detailed: bool) -> None:
    from keyfence.cli.terminal_output import console, format_minute, print_table
    from keyfence.usage.hourly_usage import UsageCounts

    out, (first, *_) = console(), found
    parts = list(first.operations.items()) if detailed else [(str(one.tenant), one.total) for one in found]
    total = sum((counts for _, counts in parts), UsageCounts())
    rows = [_row(name, counts, prices) for name, counts in (*parts, ("TOTAL", total))]
    print_table(out, ("OPERATION" if detailed else "TENANT", *HEADINGS), rows, numbers=HEADINGS)
    out.print(f"\nFrom {format_minute(first.start)} to {format_minute(first.end)} UTC. {_priced(prices)}")


def _row(name: str, counts: "UsageCounts", prices: "PriceTable") -> tuple[str, ...]:
    units = (f"{counts.read_units:,}", f"{counts.write_units:,}")
    cost = f"{prices.cost(counts.read_units, counts.write_units):,.6f}"
    return name, f"{counts.requests:,}", f"{counts.refused:,}", *units, f"{counts.throttled_calls:,}", cost


def _priced(prices: "PriceTable") -> str:
    listed = f"as listed for {prices.region} on {prices.as_of}"
    return f"A million read units cost {prices.read} USD and as many write units {prices.write}, {listed}."


def measure(rate: UnitRate = None, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Measure how much each tenant stores, as DynamoDB counts it, and save it with the tenant.

    The command scans the shared table and the tables of single tenants, on AWS as the migrator. Storage quotas use the
    last measurement, so run it regularly.

    [bold]Example:[/bold] keyfence tenant measure

    [bold]Example:[/bold] keyfence tenant measure --rate 500 --json
    """
    import asyncio

    from keyfence.cli.terminal_output import progress_bar
    from keyfence.jobs.storage_measurement import StorageMeasurement

    with migrator_access(data, endpoint_url) as (migrator, settings), progress_bar("measuring items") as advance:
        measurement = StorageMeasurement(
            migrator.scan,
            migrator.silo_scan,
            migrator.control,
            rate or settings.migration_units_per_second,
            on_progress=advance,
        )
        storage = asyncio.run(measurement())
    if json:
        document = {tenant: {"items": total.items, "bytes": total.bytes} for tenant, total in storage.items()}
        typer.echo(plain.dumps(document))
    else:
        _print_storage(storage)


def _print_storage(storage: "Mapping[TenantId, TenantStorage]") -> None:
    from keyfence.cli.terminal_output import console, print_table

    ordered = sorted(storage.items(), key=lambda entry: -entry[1].bytes)
    rows = [(str(tenant), f"{total.items:,}", f"{total.bytes:,}") for tenant, total in ordered]
    print_table(console(), ("TENANT", "ITEMS", "BYTES"), rows, numbers=("ITEMS", "BYTES"))
