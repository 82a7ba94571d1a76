"""Options that `keyfence dev` and `keyfence gate` share: ports and partition limits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

DEFAULT_GATE_PORT = 8001
MAX_BURST_SECONDS = 300.0
"""The largest --burst-seconds. DynamoDB also keeps unused capacity for at most five minutes."""

PARTITION_LIMITS_HELP = (
    "Limit each partition to 1,000 write and 3,000 read units a second, as DynamoDB does. `keyfence top` needs it."
)
BurstSecondsOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="With partition limits: how many seconds of unused capacity a partition may save up. Default: 1.",
    ),
]


def port_option(default_port: int, description: str) -> Any:
    """Returns an option for a port. The default is the port of the last start on the data directory, if it is free."""
    default = f"Default: the last port on this data directory, or the first free port from {default_port}."
    return typer.Option(metavar="PORT", min=0, max=65535, help=f"{description} {default} 0 takes any free port.")


def remembered_port(data: Path, field: Literal["url", "server_url"]) -> int | None:
    """Returns the port of the last gate (`url`) or the last `keyfence dev` (`server_url`) on this data directory."""
    from keyfence.local.data_directory import find_gate_record

    url = getattr(find_gate_record(data), field, None)
    try:
        return urlsplit(url).port if isinstance(url, str) else None
    except ValueError:
        return None


def partition_limits(is_limited: bool, burst_seconds: float | None) -> "PartitionLimits | None":
    """Returns the limits for the gate, or None without --partition-limits. Raises BadInput if --burst-seconds is not
    valid."""
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
    from keyfence_iam.gate.throughput.partition_rates import PartitionRates
    from keyfence_iam.tenant import split_shard, tenant_of_key

    if burst_seconds is not None and not is_limited:
        raise BadInput("--burst-seconds needs --partition-limits.")
    if burst_seconds is not None and not 0 < burst_seconds <= MAX_BURST_SECONDS:
        raise BadInput(f"--burst-seconds must be more than 0 and at most {MAX_BURST_SECONDS:g}.")
    rates = PartitionRates() if burst_seconds is None else PartitionRates(burst_seconds=burst_seconds)
    return PartitionLimits(rates, group_of=tenant_of_key, split_shard=split_shard) if is_limited else None
