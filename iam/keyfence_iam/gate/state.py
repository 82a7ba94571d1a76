"""What a running gate goes by; each of these may be replaced between two calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.denials import DenialLog
from keyfence_iam.gate.fault_injection import FaultPlan
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

SaveRolePolicies = Callable[[Mapping[str, Mapping[str, str]]], None]
"""Told the texts of all inline policies, by role and name, before a change of them holds."""


def discard(_: Mapping[str, Mapping[str, str]]) -> None:
    """They end with the gate."""


@dataclass(slots=True, kw_only=True)
class GateState:
    """The sessions bring the account, the key and the clock."""

    sessions: SessionIssuer
    strict: bool = False
    faults: FaultPlan = field(default_factory=FaultPlan)
    denials: DenialLog = field(default_factory=DenialLog)
    keep: SaveRolePolicies = discard
    limits: PartitionLimits | None = None
    """Of partitions; without them every partition may use as much as the engine can give."""
