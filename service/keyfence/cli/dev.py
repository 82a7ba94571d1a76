"""keyfence dev: the service on this machine, with an embedded local AWS and demo tenants."""

from typing import Annotated, Literal

import typer

from keyfence.cli.connection import Data
from keyfence.cli.gate import BurstSeconds, PartitionLimits, partition_limits
from keyfence.local.data_directory import DEFAULT

Port = Annotated[int, typer.Option(min=0, max=65535, help="Where to listen on 127.0.0.1; 0 takes a free port.")]
GatePort = Annotated[
    int, typer.Option(min=0, max=65535, help="Where the gate, the local AWS, listens; 0 takes a free port.")
]
Engine = Annotated[
    Literal["auto", "moto", "dynoxide"],
    typer.Option(help="dynoxide keeps its data, moto is in memory; auto takes dynoxide where it can be had."),
]


def dev(
    port: Port = 8000,
    gate_port: GatePort = 8001,
    engine: Engine = "auto",
    data: Data = DEFAULT,
    limited: PartitionLimits = False,
    burst_seconds: BurstSeconds = None,
) -> None:
    """Serve on this machine with an embedded local AWS and the demo tenants acme and globex.

    The local AWS is a DynamoDB engine behind a gate, which lets each session do what IAM would let it do.

    [bold]Example:[/bold] keyfence dev

    [bold]Example:[/bold] keyfence dev --port 8080 --gate-port 8081 --engine moto

    [bold]Example:[/bold] keyfence dev --partition-limits
    """
    import contextlib

    from keyfence.cli.dev_server import HOST, run_dev
    from keyfence.cli.process import interruptible, listen

    limits = partition_limits(limited, burst_seconds)
    with (
        interruptible(),
        contextlib.suppress(KeyboardInterrupt),
        listen(HOST, port) as listener,
        listen(HOST, gate_port, "--gate-port") as gate,
    ):
        run_dev(listener, gate, engine, data, limits)
