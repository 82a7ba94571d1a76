"""`keyfence dev`: its options and its listening sockets. `dev_server.py` starts everything else."""

from typing import Annotated, Literal

import typer

from keyfence.cli.gate import (
    DEFAULT_GATE_PORT,
    PARTITION_LIMITS_HELP,
    BurstSecondsOption,
    partition_limits,
    port_option,
    remembered_port,
)
from keyfence.cli.table_connection import DataOption
from keyfence.local.data_directory import DEFAULT_DIRECTORY

DEFAULT_PORT = 8000

PortOption = Annotated[int | None, port_option(DEFAULT_PORT, "GraphQL's port on 127.0.0.1.")]
GatePortOption = Annotated[int | None, port_option(DEFAULT_GATE_PORT, "The gate's port on 127.0.0.1.")]
EngineOption = Annotated[
    Literal["auto", "moto", "dynoxide"],
    typer.Option(
        help="dynoxide keeps its data on disk, moto in memory. auto is dynoxide if it can be found or fetched."
    ),
]
PartitionLimitsOption = Annotated[
    bool, typer.Option("--partition-limits/--no-partition-limits", help=PARTITION_LIMITS_HELP)
]


def dev(
    port: PortOption = None,
    gate_port: GatePortOption = None,
    engine: EngineOption = "auto",
    data: DataOption = DEFAULT_DIRECTORY,
    limited: PartitionLimitsOption = True,
    burst_seconds: BurstSecondsOption = None,
) -> None:
    """Run the service on this machine, with a local AWS and the demo tenants acme and globex.

    The local AWS is a DynamoDB engine behind a gate, which evaluates IAM policies for every call. The data directory
    remembers both ports, so that other commands find the gate. A port that you name has to be free; without a name
    the next free one is used. Ctrl-C stops it; with dynoxide all data is on disk.

    [bold]Example:[/bold] keyfence dev

    [bold]Example:[/bold] keyfence dev --port 8080 --gate-port 8081 --engine moto

    [bold]Example:[/bold] keyfence dev --no-partition-limits
    """
    import contextlib

    from keyfence.cli.dev_server import HOST, run_dev
    from keyfence.cli.interrupts import interruptible
    from keyfence.cli.ports import listen_near

    limits = partition_limits(limited, burst_seconds)
    server_port = remembered_port(data, "server_url") or DEFAULT_PORT
    with (
        interruptible(),
        contextlib.suppress(KeyboardInterrupt),
        listen_near(HOST, port, server_port, "--port") as listener,
        listen_near(HOST, gate_port, remembered_port(data, "url") or DEFAULT_GATE_PORT, "--gate-port") as gate,
    ):
        run_dev(listener, gate, engine, data, limits)
