"""keyfence hot: the partitions that are near their limits, and how many slots would do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.connection import Data, EndpointUrl
from keyfence.cli.operator import Json, OperatorSession
from keyfence.local.data_directory import DEFAULT
from keyfence.store.pagination import MAX_PAGE_SIZE

if TYPE_CHECKING:
    from keyfence.admin.context import Context
    from keyfence.hot_partitions.fleet import HotPartition

HEADINGS = ("TENANT", "COLLECTION", "READ/S", "WRITE/S", "OF LIMIT", "THROTTLED", "SHARDS", "INDEX", "PARTITION")
NUMBERS = HEADINGS[2:7]
FULL, WARM = 0.8, 0.5

First = Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, metavar="N", help="The hottest N.")]


def hot(
    first: First = 20,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Show the partitions that use most of their limits, as all servers together have seen it in the last minute.

    Units are those that were asked for, also in vain, in the busiest ten seconds. SHARDS are the fewest slots that
    carry what is asked of the collection; a partition without a collection has no slots.

    [bold]Example:[/bold] keyfence hot

    [bold]Example:[/bold] keyfence hot --first 5 --json | jq -r '.hotPartitions[].tenant'
    """
    from keyfence.cli.output import echo

    async def work(desk: "Context") -> "list[HotPartition]":
        return await desk.hot_partitions.hottest(first=first)

    found = OperatorSession(data, endpoint_url).read(work)
    if json:
        echo({"hotPartitions": [_json(one) for one in found]})
    elif found:
        _print(found)
    else:
        typer.echo("Nothing is hot.", err=True)


def _json(one: "HotPartition") -> dict[str, Any]:
    spot = one.spot
    return {
        "tenant": spot.place.tenant,
        "collection": spot.collection,
        "table": spot.place.table,
        "index": spot.place.where,
        "partition": spot.place.partition,
        "readUnitsPerSecond": spot.read,
        "writeUnitsPerSecond": spot.write,
        "throttled": spot.throttled,
        "recommendedShards": one.recommended_shards,
    }


def _print(found: "Sequence[HotPartition]") -> None:
    from keyfence.cli.output import console, print_table

    print_table(console(), HEADINGS, [_row(one) for one in found], numbers=NUMBERS)


def _row(one: "HotPartition") -> tuple[str, ...]:
    from keyfence.cli.output import shown

    spot = one.spot
    shards = str(one.recommended_shards) if spot.collection else "-"
    units = (f"{spot.read:,.1f}", f"{spot.write:,.1f}", _coloured(spot.share), f"{spot.throttled:,}")
    return spot.place.tenant, spot.collection or "-", *units, shards, spot.place.where, shown(spot.place.partition)


def _coloured(share: float) -> str:
    colour = "red" if share >= FULL else "yellow" if share >= WARM else "green"
    return f"[{colour}]{share:.0%}[/]"
