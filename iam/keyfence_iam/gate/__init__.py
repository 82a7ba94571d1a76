"""The gate: a local AWS endpoint in front of a DynamoDB engine.

The gate verifies signatures, answers calls to STS and IAM, and evaluates policies. It can also inject faults and limit
the throughput of partitions.

`Account`, `Gate`, `Fault` and `PartitionLimits` are imported when they are first used: `Gate` imports uvicorn, and
commands that only derive credentials must start without uvicorn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyfence_iam.gate.account.account import Account
    from keyfence_iam.gate.fault_definition import Fault
    from keyfence_iam.gate.gate import Gate
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

__all__ = ["Account", "Fault", "Gate", "PartitionLimits"]

_MODULES_BY_NAME = {
    "Account": "keyfence_iam.gate.account.account",
    "Fault": "keyfence_iam.gate.fault_definition",
    "Gate": "keyfence_iam.gate.gate",
    "PartitionLimits": "keyfence_iam.gate.throughput.partition_limits",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES_BY_NAME:
        return getattr(import_module(_MODULES_BY_NAME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
