"""keyfence top: who uses which partitions just now, and who is turned away."""

import json as encoding
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.connection import GATE, Data, EndpointUrl
from keyfence.cli.credentials import AccountId
from keyfence.cli.gate import Region
from keyfence.local.data_directory import DEFAULT
from keyfence_iam.deployment import LOCAL_ACCOUNT, LOCAL_REGION

if TYPE_CHECKING:
    from rich.console import Group

    from keyfence.local.traffic import GateTraffic

Json = Annotated[bool, typer.Option("--json", help="A line of JSON for every look, instead of tables.")]
Once = Annotated[bool, typer.Option("--once", help="Look once and end.")]
Interval = Annotated[float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="How long from look to look.")]
Rows = Annotated[int, typer.Option(min=1, max=100, metavar="N", help="How many tenants and partitions at most.")]

TENANTS = ("TENANT", "READ/S", "WRITE/S", "PEAK READ", "PEAK WRITE", "THROTTLES", "PARTITIONS")
PARTITIONS = ("PARTITION", "INDEX", "SLOT", "READ/S", "WRITE/S", "PEAK READ", "PEAK WRITE", "LOAD", "THROTTLES")
NUMBERS = (*TENANTS[1:], *PARTITIONS[3:])
HOT, WARM = 0.8, 0.5


def top(
    once: Once = False,
    json: Json = False,
    interval: Interval = 1.0,
    rows: Rows = 15,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
    region: Region = LOCAL_REGION,
    account: AccountId = LOCAL_ACCOUNT,
) -> None:
    """Watch tenants and partitions of a gate with --partition-limits: units a second, throttles and slots.

    Rates and throttles are of the last ten seconds, and peaks of the busiest one of them. A partition's load is how
    much of its limit it uses; its slot is the shard that it is, of those of its collection that are in use.

    [bold]Example:[/bold] keyfence top

    [bold]Example:[/bold] keyfence top --once --json | jq '.partitions[0]'
    """
    import contextlib

    from keyfence.cli.process import interruptible

    gate = _gate(endpoint_url or GATE, region, account, data)
    with interruptible(), contextlib.suppress(KeyboardInterrupt):
        if json:
            for seen in _looks(gate, interval, once=once):
                typer.echo(encoding.dumps(seen))
        else:
            _watch(gate, interval, rows, once=once)


def _gate(url: str, region: str, account: str, data: Path) -> "GateTraffic":
    from keyfence.cli.credentials import checked_account, sessions
    from keyfence.local.traffic import GateTraffic

    checked_account(account)
    return GateTraffic(url=url, region=region, sessions=sessions(data, account))


def _looks(gate: "GateTraffic", interval: float, *, once: bool) -> Iterator[dict[str, Any]]:
    import time

    yield gate.look()
    while not once:
        time.sleep(interval)
        yield gate.look()


def _watch(gate: "GateTraffic", interval: float, rows: int, *, once: bool) -> None:
    from rich.live import Live

    from keyfence.cli.output import console

    out, looks = console(), _looks(gate, interval, once=once)
    if once or not out.is_terminal:
        for seen in looks:
            out.print(_screen(seen, rows, out.width))
        return
    with Live(_screen(next(looks), rows, out.width), console=out, auto_refresh=False, screen=True) as live:
        for seen in looks:
            live.update(_screen(seen, rows, out.width), refresh=True)


def _screen(seen: dict[str, Any], rows: int, room: int) -> "Group":
    from rich.console import Group

    from keyfence.cli.output import columns

    limits = seen["limits"]
    said = (
        f"A partition has {limits['read']:,.0f} read and {limits['write']:,.0f} write units a second,"
        f" and {limits['burstSeconds']:g} s of them in reserve. The last {seen['seconds']} seconds:\n"
    )
    tenants = columns(TENANTS, [_tenant(one) for one in seen["tenants"][:rows]], room=room, numbers=NUMBERS)
    headings, cells = _partitions(seen["partitions"], rows)
    return Group(said, tenants, "", columns(headings, cells, room=room, numbers=NUMBERS))


def _partitions(busy: list[dict[str, Any]], rows: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """With their tables where these are several: a tenant's partition is called the same in its silo."""
    if len({one["table"] for one in busy}) <= 1:
        return PARTITIONS, [_partition(one) for one in busy[:rows]]
    return ("TABLE", *PARTITIONS), [(_printed(one["table"]), *_partition(one)) for one in busy[:rows]]


def _tenant(one: dict[str, Any]) -> tuple[str, ...]:
    return one["tenant"], *_units(one), _throttles(one), f"{one['partitions']:,}"


def _partition(one: dict[str, Any]) -> tuple[str, ...]:
    slot = f"{one['slot']} of {one['slots']}" if one["slot"] is not None else ""
    load = one["load"]
    colour = "red" if load >= HOT else "yellow" if load >= WARM else "green"
    return _printed(one["key"]), one["index"] or "", slot, *_units(one), f"[{colour}]{load:.0%}[/]", _throttles(one)


def _units(one: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{one[name]:,.1f}" for name in ("read", "write", "peakRead", "peakWrite"))


def _throttles(one: dict[str, Any]) -> str:
    return f"[red]{one['throttles']:,}[/]" if one["throttles"] else "0"


def _printed(key: str) -> str:
    """Whatever somebody wrote into a key, it neither colours nor moves the terminal."""
    from keyfence.cli.output import shown

    return shown("".join(one if one.isprintable() else "\ufffd" for one in key))
