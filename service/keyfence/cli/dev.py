"""`keyfence dev`: its options and its listening sockets. `dev_server.py` starts everything else."""

from typing import Annotated, Literal

import typer

from keyfence.cli.gate_options import (
    DEFAULT_GATE_PORT,
    PARTITION_LIMITS_HELP,
    BurstSecondsOption,
    partition_limits,
    port_option,
    remembered_port,
)
from keyfence.cli.table_connection import DataOption
from keyfence.local.data_directory import DEFAULT_DIRECTORY

DEFAULT_SERVER_PORT = 8000

PortOption = Annotated[int | None, port_option(DEFAULT_SERVER_PORT, "The GraphQL server's port on 127.0.0.1.")]
GatePortOption = Annotated[int | None, port_option(DEFAULT_GATE_PORT, "The gate's port on 127.0.0.1.")]
EngineOption = Annotated[
    Literal["auto", "moto", "dynoxide"],
    typer.Option(
        help="The DynamoDB engine. dynoxide keeps its data on disk, moto in memory. auto takes dynoxide if it is"
        " installed or npm can download it, and moto otherwise."
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
    is_limited: PartitionLimitsOption = True,
    burst_seconds: BurstSecondsOption = None,
) -> None:
    """Run the service on this machine, with a local AWS and the demo tenants acme and globex.

    The local AWS is a DynamoDB engine behind a gate, which evaluates IAM policies for every call. When the service is
    ready, the command prints its addresses and calls to try. It runs until Ctrl-C.

    The data directory contains the keys, the address of the gate, and the data of dynoxide. Other commands find the
    gate through it: run them in the same directory, or with the same --data.

    [bold]Example:[/bold] keyfence dev

    [bold]Example:[/bold] keyfence dev --port 8080 --gate-port 8081 --engine moto

    [bold]Example:[/bold] keyfence dev --no-partition-limits
    """
    import contextlib

    from keyfence.cli.dev_server import HOST, run_dev
    from keyfence.cli.interrupts import interruptible
    from keyfence.cli.ports import listen_near

    limits = partition_limits(is_limited, burst_seconds)
    preferred_gate_port = remembered_port(data, "url") or DEFAULT_GATE_PORT
    preferred_port = remembered_port(data, "server_url") or DEFAULT_SERVER_PORT
    with (
        interruptible(),
        contextlib.suppress(KeyboardInterrupt),
        listen_near(HOST, port, preferred_port, "--port") as listener,
        listen_near(HOST, gate_port, preferred_gate_port, "--gate-port") as gate_listener,
    ):
        run_dev(listener, gate_listener, engine, data, limits)
