"""`keyfence top`: the traffic that a local gate sees, by tenant and by partition."""

import json as json_module
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.credentials import AccountIdOption, local_session_issuer
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, remembered_gate_url
from keyfence.local.data_directory import DEFAULT_DIRECTORY, find_gate_record
from keyfence_iam.deployment import LOCAL_REGION

if TYPE_CHECKING:
    from rich.console import Group

    from keyfence.local.gate_client import GateClient

JsonLinesOption = Annotated[bool, typer.Option("--json", help="Print each report, and each error, as a line of JSON.")]
OnceOption = Annotated[bool, typer.Option("--once", help="Print one report and exit.")]
IntervalOption = Annotated[float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="Time between two reports.")]
RowsOption = Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Show at most N tenants and N partitions.")]
RegionOption = Annotated[
    str | None,
    typer.Option(
        metavar="REGION", help="The gate's region. Default: the region of the last gate on the data directory."
    ),
]

TENANT_HEADINGS = ("TENANT", "READ/S", "WRITE/S", "PEAK READ", "PEAK WRITE", "THROTTLES", "PARTITIONS")
PARTITION_HEADINGS = (
    "PARTITION",
    "INDEX",
    "SHARD",
    "READ/S",
    "WRITE/S",
    "PEAK READ",
    "PEAK WRITE",
    "LOAD",
    "THROTTLES",
)
NUMBER_HEADINGS = (*TENANT_HEADINGS[1:], *PARTITION_HEADINGS[3:])


def top(
    once: OnceOption = False,
    json: JsonLinesOption = False,
    interval: IntervalOption = 1.0,
    rows: RowsOption = 15,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
    region: RegionOption = None,
    account: AccountIdOption = None,
) -> None:
    """Watch the DynamoDB traffic of tenants and partitions at a running local gate. For AWS see `keyfence hot`.

    `keyfence dev` counts traffic unless its limits are off. `keyfence gate` counts traffic only with
    --partition-limits. The numbers cover the last ten seconds. READ/S and WRITE/S are average capacity units in a
    second. PEAK READ and PEAK WRITE are the units of the busiest second. LOAD is the used share of a partition's limit.
    SHARD is the partition's number among the shards of its collection, from 00. The tenant `-` is the service itself.

    [bold]Example:[/bold] keyfence top

    [bold]Example:[/bold] keyfence top --once --json | jq '.partitions[0]'
    """
    import contextlib

    from keyfence.cli.interrupts import interruptible

    gate = _gate_client(endpoint_url, region, account, data)
    with interruptible(), contextlib.suppress(KeyboardInterrupt):
        if json:
            for report in _reports(gate, interval, once=once):
                typer.echo(json_module.dumps(report))
        else:
            _print_reports(gate, interval, rows, once=once)


def _gate_client(url: str | None, region: str | None, account: str | None, data: Path) -> "GateClient":
    from keyfence.local.gate_client import GateClient

    issuer = local_session_issuer(data, account)
    record = find_gate_record(data)
    return GateClient(
        url=url or remembered_gate_url(data),
        region=region or (record.region if record else LOCAL_REGION),
        issuer=issuer,
    )


def _reports(gate: "GateClient", interval: float, *, once: bool) -> Iterator[dict[str, Any]]:
    """Yields a traffic report now and, unless `once`, another one after each interval in seconds."""
    import time

    yield gate.traffic_report()
    while not once:
        time.sleep(interval)
        yield gate.traffic_report()


def _print_reports(gate: "GateClient", interval: float, rows: int, *, once: bool) -> None:
    from rich.live import Live

    from keyfence.cli.terminal_output import console

    out, reports = console(), _reports(gate, interval, once=once)
    if once or not out.is_terminal:
        for report in reports:
            out.print(_screen(report, rows, out.width))
        return
    with Live(_screen(next(reports), rows, out.width), console=out, auto_refresh=False, screen=True) as live:
        for report in reports:
            live.update(_screen(report, rows, out.width), refresh=True)


def _screen(report: dict[str, Any], rows: int, width: int) -> "Group":
    from rich.console import Group

    from keyfence.cli.terminal_output import table

    limits = report["limits"]
    heading = (
        f"Limits of a partition: {limits['read']:,.0f} read and {limits['write']:,.0f} write units a second,"
        f" and {limits['burstSeconds']:g} s of unused units. The last {report['seconds']} seconds:\n"
    )
    tenants = table(
        TENANT_HEADINGS, [_tenant_row(entry) for entry in report["groups"][:rows]], width=width, numbers=NUMBER_HEADINGS
    )
    headings, partition_rows = _partition_rows(report["partitions"], rows)
    return Group(heading, tenants, "", table(headings, partition_rows, width=width, numbers=NUMBER_HEADINGS))


def _partition_rows(partitions: list[dict[str, Any]], rows: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns headings and rows, with a column for the table if there are several tables.

    A tenant that moves to its silo has partitions with the same key in both tables.
    """
    if len({entry["table"] for entry in partitions}) <= 1:
        return PARTITION_HEADINGS, [_partition_row(entry) for entry in partitions[:rows]]
    return ("TABLE", *PARTITION_HEADINGS), [
        (_printable(entry["table"]), *_partition_row(entry)) for entry in partitions[:rows]
    ]


def _tenant_row(entry: dict[str, Any]) -> tuple[str, ...]:
    return entry["group"], *_units(entry), _throttles(entry), f"{entry['partitions']:,}"


def _partition_row(entry: dict[str, Any]) -> tuple[str, ...]:
    from keyfence.cli.terminal_output import colored_load

    shard = f"{entry['shard']} of {entry['shards']}" if entry["shard"] is not None else ""
    load = colored_load(entry["load"])
    return _printable(entry["key"]), entry["index"] or "", shard, *_units(entry), load, _throttles(entry)


def _units(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{entry[name]:,.1f}" for name in ("read", "write", "peakRead", "peakWrite"))


def _throttles(entry: dict[str, Any]) -> str:
    return f"[red]{entry['throttles']:,}[/]" if entry["throttles"] else "0"


def _printable(key: str) -> str:
    """Returns the key for a table of `rich`. Control characters, which could move the cursor or change colors, are
    replaced."""
    from keyfence.cli.terminal_output import escape_markup

    return escape_markup("".join(character if character.isprintable() else "\ufffd" for character in key))
