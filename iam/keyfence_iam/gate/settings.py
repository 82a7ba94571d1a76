"""`GateSettings`: the account, faults, limits and callbacks of a running gate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.denials import DenialLog
from keyfence_iam.gate.fault_injection import FaultPlan
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

SaveRolePolicies = Callable[[Mapping[str, Mapping[str, str]]], None]
"""A function that saves the texts of inline policies, by role name and policy name. It is called before a change takes
effect."""

IndexKeyPrefixOf = Callable[[Mapping[str, str]], str]
"""A function that receives the tags of a session. It returns the prefix of index keys that the session may write."""


def do_not_save(_: Mapping[str, Mapping[str, str]]) -> None:
    """Saves nothing. Inline policies are lost when the gate stops."""


@dataclass(slots=True, kw_only=True)
class GateSettings:
    """The settings of a running gate. Each field may be replaced between two calls."""

    session_issuer: SessionIssuer
    """Contains the account, the key of the gate and the clock."""
    index_key_prefix_of: IndexKeyPrefixOf | None = None
    """IAM does not check the index keys that a call writes. With this function, the gate checks their prefix."""
    faults: FaultPlan = field(default_factory=FaultPlan)
    denials: DenialLog = field(default_factory=DenialLog)
    save_role_policies: SaveRolePolicies = do_not_save
    limits: PartitionLimits | None = None
    """The throughput limits of partitions. None means that the gate limits nothing."""
    traffic_role: str | None = None
    """The role that may read the traffic report: its name without the role prefix. None means nobody."""
