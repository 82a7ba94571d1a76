"""The options that give partitions behind a gate the limits of DynamoDB's."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence_iam.gate.limits.limits import Limits

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
    from keyfence_iam.gate.limits.buckets import Rates
    from keyfence_iam.gate.limits.limits import Limits

    if burst_seconds is not None and not wanted:
        raise BadInput("--burst-seconds has a meaning only with --partition-limits.")
    if burst_seconds is not None and not 0 < burst_seconds <= LONGEST:
        raise BadInput(f"--burst-seconds must be more than 0 and at most {LONGEST:g}.")
    rates = Rates() if burst_seconds is None else Rates(burst_seconds=burst_seconds)
    return Limits(rates) if wanted else None
