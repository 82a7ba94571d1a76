"""`keyfence gate`: its options and its output."""

import json as json_module
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.deployment_options import check_deployment_options
from keyfence.cli.gate_options import (
    DEFAULT_GATE_PORT,
    PARTITION_LIMITS_HELP,
    BurstSecondsOption,
    partition_limits,
    port_option,
    remembered_port,
)
from keyfence.cli.table_connection import DataOption
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence_iam.deployment import LOCAL_ACCOUNT, LOCAL_REGION, Deployment

if TYPE_CHECKING:
    import socket

    from keyfence_iam.gate.denials import DeniedCall
    from keyfence_iam.gate.fault_definition import Fault
    from keyfence_iam.gate.gate import Gate
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

DEFAULT_TABLE = "keyfence"

EngineUrlOption = Annotated[
    str,
    typer.Option(
        metavar="URL", help="The address of a DynamoDB engine: moto, dynoxide, DynamoDB Local or another one."
    ),
]
PortOption = Annotated[int | None, port_option(DEFAULT_GATE_PORT, "The gate's port on 127.0.0.1.")]
TableOption = Annotated[str, typer.Option(metavar="NAME", help="The table to which the roles' policies give access.")]
RegionOption = Annotated[str, typer.Option(metavar="REGION", help="The region that calls are signed for.")]
AccountIdOption = Annotated[str, typer.Option(metavar="ID", help="The AWS account of roles and tables: twelve digits.")]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict", help="Also deny writes whose index keys are keys of another tenant. AWS allows such writes."
    ),
]
FaultsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file with a JSON list of faults to inject, as described above.")
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="Print each denied call and each error as a line of JSON.")
]
PartitionLimitsOption = Annotated[bool, typer.Option("--partition-limits", help=PARTITION_LIMITS_HELP)]


def gate(
    engine_url: EngineUrlOption,
    port: PortOption = None,
    data: DataOption = DEFAULT_DIRECTORY,
    table: TableOption = DEFAULT_TABLE,
    region: RegionOption = LOCAL_REGION,
    account: AccountIdOption = LOCAL_ACCOUNT,
    strict: StrictOption = False,
    faults: FaultsOption = None,
    is_limited: PartitionLimitsOption = False,
    burst_seconds: BurstSecondsOption = None,
    json: JsonLinesOption = False,
) -> None:
    """Run only the gate: a proxy that verifies signatures and evaluates IAM policies before a DynamoDB engine.

    The engine must already run. The gate serves DynamoDB, STS, and the part of IAM that suspends tenants. It prints
    every call that it denies. Sessions come from `keyfence credentials` with the same data directory, or from the
    gate's own STS. Inline policies that are set through IAM are saved in the data directory.

    A fault is a JSON object. Its kind is "latency", "error", "throttle", "lost_request" or "lost_response". All other
    members are optional. service (dynamodb, sts or iam), operation and key_prefix select the calls to which it applies.
    nth, every, or probability with seed select some of these calls. times is the largest number of injections.
    milliseconds is the delay of a latency, and code is the code of an error.

    With partition limits, calls beyond the limits of a partition get ProvisionedThroughputExceededException, and
    `keyfence top` shows the traffic of each partition.

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
    parsed_faults, limits = _read_faults(faults), partition_limits(is_limited, burst_seconds)
    preferred_port = remembered_port(data, "url") or DEFAULT_GATE_PORT
    with (
        interruptible(),
        contextlib.suppress(KeyboardInterrupt),
        listen_near(HOST, port, preferred_port, "--port") as listener,
    ):
        running_gate = _start(
            engine_url,
            listener,
            data,
            deployment,
            parsed_faults,
            limits,
            strict=strict,
            on_denied=output.print_denial,
        )
        try:
            output.print_ready(running_gate.url, engine_url)
            running_gate.wait()
        finally:
            with ignoring_signals():
                running_gate.stop()


@dataclass(frozen=True, slots=True)
class GateOutput:
    """Prints the address of the gate and each denied call, as text or as lines of JSON."""

    as_json: bool
    data: Path
    table: str

    def print_ready(self, url: str, engine_url: str) -> None:
        command = f"keyfence credentials --tenant acme --data {shlex.quote(str(self.data))}"
        if self.as_json:
            _print_json_line({"event": "ready", "endpoint": url, "engine": engine_url, "credentials": command})
            return
        key = shlex.quote(json_module.dumps({"PK": {"S": "TENANT#acme#USER#1"}, "SK": {"S": "PROFILE"}}))
        print(
            f"\nThe gate is ready.\n\n"
            f"  Endpoint  {url}\n"
            f"            DynamoDB, STS and IAM. The engine behind it is {engine_url}.\n"
            f"  Tenant    {command}\n"
            f"            prints credentials of acme. Set this command as credential_process of the profile acme in\n"
            f"            ~/.aws/config. Then the aws CLI calls DynamoDB as acme:\n"
            f"            aws --profile acme --endpoint-url {url} dynamodb get-item --table-name {self.table}"
            f" --key {key}\n\n"
            f"Denied calls are printed below. Press Ctrl-C to stop.\n",
            flush=True,
        )

    def print_denial(self, denial: "DeniedCall") -> None:
        from keyfence_iam.gate.account.session_token import iso_seconds

        denied_at = iso_seconds(denial.denied_at)
        if not self.as_json:
            print(f"{denied_at} {denial.operation} denied: {denial.message} [{denial.reason}]", flush=True)
            return
        _print_json_line(
            {
                "event": "denied",
                "at": denied_at,
                "session": denial.session_arn,
                "operation": denial.operation,
                "action": denial.action,
                "resource": denial.resource,
                "message": denial.message,
                "reason": denial.reason,
            }
        )


def _start(
    engine_url: str,
    listener: "socket.socket",
    data: Path,
    deployment: Deployment,
    faults: "tuple[Fault, ...]",
    limits: "PartitionLimits | None",
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
    from keyfence_iam.gate.fault_definition import InvalidFault, parse_faults_json

    try:
        return () if file is None else parse_faults_json(file.read_bytes())
    except OSError as error:
        raise BadInput(f"--faults {file} cannot be read: {error.strerror or error}.") from error
    except InvalidFault as error:
        raise BadInput(f"--faults {file}: {error}.") from error


def _print_json_line(event: dict[str, str]) -> None:
    print(json_module.dumps(event), flush=True)
