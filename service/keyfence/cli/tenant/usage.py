"""`keyfence tenant usage` and `keyfence tenant measure`."""

import json as json_module
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.job_command import UnitRateOption, migrator_access
from keyfence.cli.operator_session import OperatorSession, tenant_not_found
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, parse_tenant_option
from keyfence.local.data_directory import DEFAULT_DIRECTORY

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.jobs.storage_measurement import TenantStorage
    from keyfence.usage.hourly_usage import PriceTable, Usage, UsageCounts
    from keyfence_iam.tenant import TenantId


TIME_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
HEADINGS = ("REQUESTS", "REFUSED", "READ UNITS", "WRITE UNITS", "THROTTLED CALLS", "USD")

UsageOfArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TENANT",
        help="The tenant to show, with a line for each operation. - is the service itself. Default: all tenants.",
    ),
]
FromOption = Annotated[
    datetime | None,
    typer.Option(
        "--from", formats=TIME_FORMATS, metavar="TIME", help="Start, in UTC. Default: the first day of this month."
    ),
]
ToOption = Annotated[
    datetime | None,
    typer.Option("--to", formats=TIME_FORMATS, metavar="TIME", help="End, in UTC. Default: now."),
]


def usage(
    id: UsageOfArgument = None,
    start: FromOption = None,
    end: ToOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Show the requests, DynamoDB capacity units and cost of tenants, in whole hours.

    Servers save their counts every few seconds. Usage that belongs to no tenant is listed as the tenant `-`, so
    the total is what all calls of the servers cost. The output names the prices.

    [bold]Example:[/bold] keyfence tenant usage

    [bold]Example:[/bold] keyfence tenant usage acme --from 2026-03-01 --to 2026-04-01 --json
    """
    from keyfence.usage.hourly_usage import CONTROL_PLANE

    now = datetime.now(UTC)
    start_at = start.replace(tzinfo=UTC) if start else now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end_at = end.replace(tzinfo=UTC) if end else now
    if id is None or id == CONTROL_PLANE:
        only_tenant = CONTROL_PLANE if id else None
    else:
        only_tenant = parse_tenant_option(id, "TENANT")

    async def work(context: "AdminContext") -> "tuple[list[Usage], PriceTable]":
        tenants = await _tenants(context, only_tenant)
        return [await context.usage.sum_hours(tenant, start_at, end_at) for tenant in tenants], context.prices

    usages, prices = OperatorSession(data, endpoint_url).read(work)
    print_usages = _print_json if json else _print_table
    print_usages(usages, prices, by_operation=only_tenant is not None)


async def _tenants(context: "AdminContext", only_tenant: "TenantId | None") -> "Sequence[TenantId]":
    """Returns `only_tenant`. If it is None, returns all tenants and `-`, the service itself. Raises NotFound if the
    tenant does not exist."""
    from keyfence.cli.tenant.list_show import tenant_pages
    from keyfence.usage.hourly_usage import CONTROL_PLANE

    if only_tenant is None:
        pages = tenant_pages(context.tenants, status=None, limit=None)
        return [*[tenant.id async for page in pages for tenant in page], CONTROL_PLANE]
    if only_tenant != CONTROL_PLANE and await context.tenants.find(only_tenant) is None:
        raise tenant_not_found(only_tenant)
    return [only_tenant]


def _print_json(usages: "Sequence[Usage]", prices: "PriceTable", *, by_operation: bool) -> None:
    from keyfence.cli.terminal_output import format_timestamp, print_json

    print_json(
        {
            "from": format_timestamp(usages[0].start),
            "to": format_timestamp(usages[0].end),
            "usdPerMillionUnits": {
                "region": prices.region,
                "asOf": f"{prices.as_of}",
                "read": f"{prices.read}",
                "write": f"{prices.write}",
            },
            "tenants": [_usage_json(usage, prices, by_operation=by_operation) for usage in usages],
        }
    )


def _usage_json(usage: "Usage", prices: "PriceTable", *, by_operation: bool) -> dict[str, Any]:
    document = {"tenant": usage.tenant, **_counts_json(usage.total, prices)}
    if by_operation:
        document["operations"] = {name: _counts_json(counts, prices) for name, counts in usage.operations.items()}
    return document


def _counts_json(counts: "UsageCounts", prices: "PriceTable") -> dict[str, Any]:
    return {
        "requests": counts.requests,
        "throttled": counts.refused,
        "readUnits": float(counts.read_units),
        "writeUnits": float(counts.write_units),
        "throttledCalls": counts.throttled_calls,
        "costUsd": float(prices.cost(counts.read_units, counts.write_units)),
    }


def _print_table(usages: "Sequence[Usage]", prices: "PriceTable", *, by_operation: bool) -> None:
    from keyfence.cli.terminal_output import console, format_minute, print_table
    from keyfence.usage.hourly_usage import UsageCounts

    out, first_usage = console(), usages[0]
    if by_operation:
        named_counts = list(first_usage.operations.items())
    else:
        named_counts = [(str(usage.tenant), usage.total) for usage in usages]
    total = sum((counts for _, counts in named_counts), UsageCounts())
    rows = [_row(name, counts, prices) for name, counts in (*named_counts, ("TOTAL", total))]
    print_table(out, ("OPERATION" if by_operation else "TENANT", *HEADINGS), rows, numbers=HEADINGS)
    out.print(
        f"\nFrom {format_minute(first_usage.start)} to {format_minute(first_usage.end)} UTC. {_prices_text(prices)}"
    )


def _row(name: str, counts: "UsageCounts", prices: "PriceTable") -> tuple[str, ...]:
    units = (f"{counts.read_units:,}", f"{counts.write_units:,}")
    cost = f"{prices.cost(counts.read_units, counts.write_units):,.6f}"
    return name, f"{counts.requests:,}", f"{counts.refused:,}", *units, f"{counts.throttled_calls:,}", cost


def _prices_text(prices: "PriceTable") -> str:
    price_list = f"as listed for {prices.region} on {prices.as_of}"
    return f"A million read units cost {prices.read} USD and a million write units {prices.write} USD, {price_list}."


def measure(
    rate: UnitRateOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Measure how many bytes each tenant stores, as DynamoDB counts them, and save the number with the tenant.

    The command scans the shared table and the tables of single tenants. On AWS it needs the role `migrator`. Storage
    quotas use the last measurement, so run it regularly.

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
        typer.echo(json_module.dumps(document))
    else:
        _print_storage(storage)


def _print_storage(storage: "Mapping[TenantId, TenantStorage]") -> None:
    from keyfence.cli.terminal_output import console, print_table

    largest_first = sorted(storage.items(), key=lambda entry: -entry[1].bytes)
    rows = [(str(tenant), f"{total.items:,}", f"{total.bytes:,}") for tenant, total in largest_first]
    print_table(console(), ("TENANT", "ITEMS", "BYTES"), rows, numbers=("ITEMS", "BYTES"))
