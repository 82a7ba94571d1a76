"""`GateSettings`: what a running gate uses. Each field may be replaced between two calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.denials import DenialLog
from keyfence_iam.gate.fault_injection import FaultPlan
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

SaveRolePolicies = Callable[[Mapping[str, Mapping[str, str]]], None]
"""Receives the texts of all inline policies, by role and name, before a change of them takes effect."""

IndexKeyPrefix = Callable[[Mapping[str, str]], str]
"""Returns the prefix that index keys written by a session with these tags must have."""


def discard(_: Mapping[str, Mapping[str, str]]) -> None:
    """Saves nothing: inline policies end with the gate."""


@dataclass(slots=True, kw_only=True)
class GateSettings:
    """The session issuer contains the account, the gate's key and the clock."""

    sessions: SessionIssuer
    index_key_prefix: IndexKeyPrefix | None = None
    """IAM does not check keys that a call writes into indexes. With this function the gate does."""
    faults: FaultPlan = field(default_factory=FaultPlan)
    denials: DenialLog = field(default_factory=DenialLog)
    save_role_policies: SaveRolePolicies = discard
    limits: PartitionLimits | None = None
    """Throughput limits of partitions. None leaves the throughput to the engine."""
    traffic_role: str | None = None
    """The role that may read the traffic report, without the account's role prefix. None denies it to all."""
