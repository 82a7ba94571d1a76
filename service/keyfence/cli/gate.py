"""`keyfence gate`, its output, partition limits."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.connection import Data
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT
from keyfence_iam.deployment import LOCAL_ACCOUNT, LOCAL_REGION, Deployment

if TYPE_CHECKING:
    import socket

    from keyfence_iam.gate.denials import Listener
    from keyfence_iam.gate.faults import Fault
    from keyfence_iam.gate.gate import Gate
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits as Limits


LONGEST = 300.0

PartitionLimits = Annotated[
    bool,
    typer.Option(
        "--partition-limits", help="Give every partition 1,000 write and 3,000 read units a second, as DynamoDB does."
    ),
]
BurstSeconds = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="How many seconds' worth a partition may save up; 1 if left out."),
]


def partition_limits(wanted: bool, burst_seconds: float | None) -> "Limits | None":
    from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits as Limits

    if burst_seconds is not None and not wanted:
        raise BadInput("--burst-seconds has a meaning only with --partition-limits.")
    if burst_seconds is not None and not 0 < burst_seconds <= LONGEST:
        raise BadInput(f"--burst-seconds must be more than 0 and at most {LONGEST:g}.")
    rates = PartitionRates() if burst_seconds is None else PartitionRates(burst_seconds=burst_seconds)
    return Limits(rates) if wanted else None


EngineUrl = Annotated[
    str, typer.Option(metavar="URL", help="The engine: moto, dynoxide, DynamoDB Local or their kind.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Where to listen on 127.0.0.1; 0 takes a free port.")]
Table = Annotated[str, typer.Option(metavar="NAME", help="The table that the roles' policies name.")]
Region = Annotated[str, typer.Option(metavar="REGION", help="The region that calls are signed for.")]
AccountId = Annotated[str, typer.Option(metavar="ID", help="The account of roles and tables: twelve digits.")]
Strict = Annotated[bool, typer.Option("--strict", help="Beyond AWS: refuse writes whose index keys leave the tenant.")]
Faults = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A JSON list of faults to inject: latency, errors, lost answers.")
]
Json = Annotated[bool, typer.Option("--json", help="Say everything as lines of JSON, denials too.")]

TABLE = "keyfence"
RULES = {
    "table": ("3 to 255 letters, digits, '_', '.' and '-'", re.compile(r"[A-Za-z0-9_.-]{3,255}")),
    "region": ("the name of a region, as us-east-1", re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")),
    "account": ("twelve digits", re.compile(r"[0-9]{12}")),
}


def gate(
    engine_url: EngineUrl,
    port: Port = 8001,
    data: Data = DEFAULT,
    table: Table = TABLE,
    region: Region = LOCAL_REGION,
    account: AccountId = LOCAL_ACCOUNT,
    strict: Strict = False,
    faults: Faults = None,
    limited: PartitionLimits = False,
    burst_seconds: BurstSeconds = None,
    json: Json = False,
) -> None:
    """Stand before a DynamoDB engine and let each session do what IAM would let it do, and nothing else.

    It speaks DynamoDB, STS and what suspends tenants of IAM, verifies every signature, evaluates the policies and says
    what it denied. Policies that are put through IAM are kept in the data directory. Sessions come from
    `keyfence credentials` with the same data directory, or from its own STS.

    A fault is {"kind": "latency" | "error" | "throttle" | "lost_request" | "lost_response"} with, as wanted:
    operation, service (dynamodb | sts | iam), key_prefix, nth | every | probability and seed, times, milliseconds,
    code.

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002 --port 0 --strict --json

    With partition limits a partition of the table or of an index that is used beyond what DynamoDB gives one is
    answered ProvisionedThroughputExceededException; `keyfence top` shows them.

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002 --faults faults.json

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002 --partition-limits
    """
    import contextlib

    from keyfence.cli.gate_output import output
    from keyfence.cli.process import ignoring_signals, interruptible, listen
    from keyfence_iam.gate.gate import HOST

    _check(table=table, region=region, account=account)
    deployment = Deployment(account=account, region=region, table=table)
    say = output(as_json=json, data=data)
    injected, limits = _read(faults), partition_limits(limited, burst_seconds)
    with interruptible(), contextlib.suppress(KeyboardInterrupt), listen(HOST, port) as listener:
        running = _start(engine_url, listener, data, deployment, injected, limits, strict=strict, on_denied=say.denied)
        try:
            say.ready(running.url, engine_url)
            running.wait()
        finally:
            with ignoring_signals():
                running.stop()


def _check(**given: str) -> None:
    for name, text in given.items():
        wanted, pattern = RULES[name]
        if not pattern.fullmatch(text):
            raise BadInput(f"--{name} {text!r} must be {wanted}.")


def _start(
    engine_url: str,
    listener: "socket.socket",
    data: Path,
    deployment: Deployment,
    faults: "tuple[Fault, ...]",
    limits: "Limits | None",
    *,
    strict: bool,
    on_denied: "Listener",
) -> "Gate":
    from functools import partial

    from keyfence.local.data_directory import data_directory, gate_key
    from keyfence.local.role_policies import load, save
    from keyfence_iam.gate.account.account import Account
    from keyfence_iam.gate.engine.client import InvalidEngineUrl
    from keyfence_iam.gate.gate import Gate

    directory = data_directory(data)
    try:
        return Gate.start(
            engine_url=engine_url,
            account=load(directory, Account.of(deployment)),
            key=gate_key(directory),
            keep=partial(save, directory),
            strict=strict,
            faults=faults,
            on_denied=on_denied,
            limits=limits,
            listener=listener,
        )
    except InvalidEngineUrl as error:
        raise BadInput(f"--engine-url: {error}.") from error


def _read(file: Path | None) -> "tuple[Fault, ...]":
    from keyfence_iam.gate.faults import InvalidFault, parse_text

    try:
        return () if file is None else parse_text(file.read_bytes())
    except OSError as error:
        raise BadInput(f"--faults {file} cannot be read: {error.strerror or error}.") from error
    except InvalidFault as error:
        raise BadInput(f"--faults {file}: {error}.") from error
