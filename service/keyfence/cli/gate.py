"""`keyfence gate`: its options, its output and the options for partition limits, which `dev` has too."""

import json as encoding
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from keyfence.cli.table_connection import DataOption
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence_iam.deployment import LOCAL_ACCOUNT, LOCAL_REGION, Deployment

if TYPE_CHECKING:
    import socket

    from keyfence_iam.gate.denials import DeniedCall
    from keyfence_iam.gate.faults import Fault
    from keyfence_iam.gate.gate import Gate
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits as Limits

DEFAULT_GATE_PORT = 8001
MAX_BURST_SECONDS = 300.0
TABLE = "keyfence"
DEPLOYMENT_OPTIONS = {
    "table": ("3 to 255 letters, digits, '_', '.' and '-'", re.compile(r"[A-Za-z0-9_.-]{3,255}")),
    "region": ("the name of a region, as us-east-1", re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")),
    "account": ("twelve digits", re.compile(r"[0-9]{12}")),
}


def port_option(first: int, description: str) -> Any:
    """Returns an option for a port. Its default depends on the data directory and on the ports that are free."""
    default = f"Default: the last one on this data directory, or the first free one from {first}. 0 takes any."
    return typer.Option(metavar="PORT", min=0, max=65535, help=f"{description} {default}")


EngineUrlOption = Annotated[
    str, typer.Option(metavar="URL", help="The DynamoDB engine: moto, dynoxide, DynamoDB Local or another one.")
]
PortOption = Annotated[int | None, port_option(DEFAULT_GATE_PORT, "The gate's port on 127.0.0.1.")]
TableOption = Annotated[str, typer.Option(metavar="NAME", help="The table that the roles' policies name.")]
RegionOption = Annotated[str, typer.Option(metavar="REGION", help="The region that calls are signed for.")]
AccountIdOption = Annotated[str, typer.Option(metavar="ID", help="The AWS account of roles and tables: twelve digits.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Also deny writes whose index keys lie outside the tenant. AWS allows them.")
]
FaultsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A JSON list of faults to inject: latency, errors, lost answers.")
]
JsonLinesOption = Annotated[bool, typer.Option("--json", help="Print each event and each error as a line of JSON.")]
PARTITION_LIMITS_HELP = "Limit each partition to 1,000 write and 3,000 read units a second; `top` needs it."
PartitionLimitsOption = Annotated[bool, typer.Option("--partition-limits", help=PARTITION_LIMITS_HELP)]
BurstSecondsOption = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Seconds of unused capacity that a partition may save up. Default: 1."),
]


def gate(
    engine_url: EngineUrlOption,
    port: PortOption = None,
    data: DataOption = DEFAULT_DIRECTORY,
    table: TableOption = TABLE,
    region: RegionOption = LOCAL_REGION,
    account: AccountIdOption = LOCAL_ACCOUNT,
    strict: StrictOption = False,
    faults: FaultsOption = None,
    limited: PartitionLimitsOption = False,
    burst_seconds: BurstSecondsOption = None,
    json: JsonLinesOption = False,
) -> None:
    """Run the gate alone: a proxy that checks signatures and IAM policies before a DynamoDB engine.

    It answers calls of DynamoDB, STS, and the part of IAM that suspends tenants, and prints every call that it denies.
    Sessions come from `keyfence credentials` with the same data directory, or from the gate's own STS. Inline policies
    that are put through IAM are saved in the data directory.

    A fault is {"kind": "latency" | "error" | "throttle" | "lost_request" | "lost_response"} with any of: operation,
    service (dynamodb | sts | iam), key_prefix, nth | every | probability and seed, times, milliseconds, code.

    With partition limits, a partition of the table or of an index that is used beyond DynamoDB's limits answers
    ProvisionedThroughputExceededException; `keyfence top` shows its traffic.

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002 --port 0 --strict --json

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002 --faults faults.json

    [bold]Example:[/bold] keyfence gate --engine-url http://127.0.0.1:8002 --partition-limits
    """
    import contextlib

    from keyfence.cli.interrupts import ignoring_signals, interruptible
    from keyfence.cli.ports import listen_near
    from keyfence_iam.gate.gate import HOST

    check_deployment_options(table=table, region=region, account=account)
    deployment = Deployment(account=account, region=region, table=table)
    output = GateOutput(as_json=json, data=data, table=table)
    injected, limits = _read_faults(faults), partition_limits(limited, burst_seconds)
    preferred = remembered_port(data, "url") or DEFAULT_GATE_PORT
    with (
        interruptible(),
        contextlib.suppress(KeyboardInterrupt),
        listen_near(HOST, port, preferred, "--port") as socket,
    ):
        running = _start(engine_url, socket, data, deployment, injected, limits, strict=strict, on_denied=output.denied)
        try:
            output.ready(running.url, engine_url)
            running.wait()
        finally:
            with ignoring_signals():
                running.stop()


@dataclass(frozen=True, slots=True)
class GateOutput:
    """Prints where the gate listens and each call that it denies, as text or as lines of JSON."""

    as_json: bool
    data: Path
    table: str

    def ready(self, url: str, engine_url: str) -> None:
        command = f"keyfence credentials --tenant acme --data {shlex.quote(str(self.data))}"
        if self.as_json:
            _print_line({"event": "ready", "endpoint": url, "engine": engine_url, "credentials": command})
            return
        key = shlex.quote(encoding.dumps({"PK": {"S": "TENANT#acme#USER#1"}, "SK": {"S": "PROFILE"}}))
        print(
            f"\nThe gate is ready.\n\n"
            f"  Endpoint  {url}\n"
            f"            DynamoDB, STS and IAM. The engine behind it is {engine_url}.\n"
            f"  Tenant    {command}\n"
            f"            prints a session of acme. With it as credential_process of a profile in ~/.aws/config:\n"
            f"            aws --profile acme --endpoint-url {url} dynamodb get-item --table-name {self.table}"
            f" --key {key}\n\n"
            f"Denied calls are printed below. Press Ctrl-C to stop.\n",
            flush=True,
        )

    def denied(self, denial: "DeniedCall") -> None:
        from keyfence_iam.gate.account.session_token import iso_seconds

        at = iso_seconds(denial.denied_at)
        if not self.as_json:
            print(f"{at} {denial.operation} denied: {denial.message} [{denial.reason}]", flush=True)
            return
        _print_line(
            {
                "event": "denied",
                "at": at,
                "session": denial.session_arn,
                "operation": denial.operation,
                "action": denial.action,
                "resource": denial.resource,
                "message": denial.message,
                "reason": denial.reason,
            }
        )


def partition_limits(limited: bool, burst_seconds: float | None) -> "Limits | None":
    from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits as Limits
    from keyfence_iam.tenant import split_shard, tenant_of_key

    if burst_seconds is not None and not limited:
        raise BadInput("--burst-seconds needs --partition-limits.")
    if burst_seconds is not None and not 0 < burst_seconds <= MAX_BURST_SECONDS:
        raise BadInput(f"--burst-seconds must be more than 0 and at most {MAX_BURST_SECONDS:g}.")
    rates = PartitionRates() if burst_seconds is None else PartitionRates(burst_seconds=burst_seconds)
    return Limits(rates, group_of=tenant_of_key, split_shard=split_shard) if limited else None


def remembered_port(data: Path, field: Literal["url", "server_url"]) -> int | None:
    """Returns the port that the last gate, or the server beside it, had on this data directory."""
    from keyfence.local.data_directory import find_gate_record

    url = getattr(find_gate_record(data), field, None)
    try:
        return urlsplit(url).port if isinstance(url, str) else None
    except ValueError:
        return None


def check_deployment_options(**values: str) -> None:
    for name, text in values.items():
        description, pattern = DEPLOYMENT_OPTIONS[name]
        if not pattern.fullmatch(text):
            raise BadInput(f"--{name} {text!r} must be {description}.")


def _start(
    engine_url: str,
    listener: "socket.socket",
    data: Path,
    deployment: Deployment,
    faults: "tuple[Fault, ...]",
    limits: "Limits | None",
    *,
    strict: bool,
    on_denied: "Callable[[DeniedCall], None]",
) -> "Gate":
    from keyfence.local.data_directory import data_directory
    from keyfence.local.gate import start_gate
    from keyfence_iam.gate.engine.engine_client import InvalidEngineUrl

    try:
        return start_gate(
            data_directory(data),
            deployment,
            engine_url=engine_url,
            listener=listener,
            limits=limits,
            checks_index_keys=strict,
            faults=faults,
            on_denied=on_denied,
        )
    except InvalidEngineUrl as error:
        raise BadInput(f"--engine-url: {error}.") from error


def _read_faults(file: Path | None) -> "tuple[Fault, ...]":
    from keyfence_iam.gate.faults import InvalidFault, parse_faults_json

    try:
        return () if file is None else parse_faults_json(file.read_bytes())
    except OSError as error:
        raise BadInput(f"--faults {file} cannot be read: {error.strerror or error}.") from error
    except InvalidFault as error:
        raise BadInput(f"--faults {file}: {error}.") from error


def _print_line(event: dict[str, str]) -> None:
    print(encoding.dumps(event), flush=True)
