"""`keyfence hot`: the partitions that use most of their limits, and how many shards their collections need."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.operator_session import OperatorSession
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence.store.pagination import MAX_PAGE_SIZE

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.hot_partitions.fleet_traffic import HotPartition

HEADINGS = ("TENANT", "COLLECTION", "READ/S", "WRITE/S", "OF LIMIT", "THROTTLED", "SHARDS", "INDEX", "PARTITION")
NUMBER_HEADINGS = HEADINGS[2:7]

FirstOption = Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, metavar="N", help="Show the hottest N partitions.")]


def hot(
    first: FirstOption = 20,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Show the partitions that used most of their limits in the last minute, as counted by all servers.

    READ/S and WRITE/S are the capacity units in a second during the busiest ten seconds, including throttled calls. OF
    LIMIT is their share of a partition's limit. SHARDS is the smallest number of shards that can serve the collection's
    traffic; `keyfence reshard` changes the number. A partition that belongs to no collection has no shards. On AWS the
    command needs the role `service-base`.

    [bold]Example:[/bold] keyfence hot

    [bold]Example:[/bold] keyfence hot --first 5 --json | jq -r '.hotPartitions[].tenant'
    """
    from keyfence.cli.terminal_output import print_json

    async def work(context: "AdminContext") -> "list[HotPartition]":
        return await context.hot_partitions.hottest(first=first)

    partitions = OperatorSession(data, endpoint_url).read(work)
    if json:
        print_json({"hotPartitions": [_hot_partition_json(partition) for partition in partitions]})
    elif partitions:
        _print_partitions(partitions)
    else:
        typer.echo("No server reported a hot partition in the last minute.", err=True)


def _hot_partition_json(hot: "HotPartition") -> dict[str, Any]:
    load = hot.load
    return {
        "tenant": load.partition.tenant,
        "collection": load.collection,
        "table": load.partition.table,
        "index": load.partition.index_name,
        "partition": load.partition.key,
        "readUnitsPerSecond": load.read_units_per_second,
        "writeUnitsPerSecond": load.write_units_per_second,
        "throttled": load.throttled,
        "recommendedShards": hot.recommended_shards,
    }


def _print_partitions(partitions: "Sequence[HotPartition]") -> None:
    from keyfence.cli.terminal_output import console, print_table

    print_table(console(), HEADINGS, [_row(partition) for partition in partitions], numbers=NUMBER_HEADINGS)


def _row(hot: "HotPartition") -> tuple[str, ...]:
    from keyfence.cli.terminal_output import colored_load, escape_markup

    load = hot.load
    shards = str(hot.recommended_shards) if load.collection else "-"
    units = (
        f"{load.read_units_per_second:,.1f}",
        f"{load.write_units_per_second:,.1f}",
        colored_load(load.limit_share),
        f"{load.throttled:,}",
    )
    key = escape_markup(load.partition.key)
    return load.partition.tenant, load.collection or "-", *units, shards, load.partition.index_name, key
