"""A local AWS endpoint before any DynamoDB engine: signatures, STS, IAM policies, faults and partition limits.

`Account`, `Gate`, `Fault` and `PartitionLimits` are loaded on first use: the server needs uvicorn, and commands that
only derive credentials must start without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyfence_iam.gate.account.account import Account
    from keyfence_iam.gate.faults import Fault
    from keyfence_iam.gate.gate import Gate
    from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

__all__ = ["Account", "Fault", "Gate", "PartitionLimits"]

_MODULES = {
    "Account": "keyfence_iam.gate.account.account",
    "Fault": "keyfence_iam.gate.faults",
    "Gate": "keyfence_iam.gate.gate",
    "PartitionLimits": "keyfence_iam.gate.throughput.partition_limits",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
