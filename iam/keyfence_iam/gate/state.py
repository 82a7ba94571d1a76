"""What a running gate goes by; each of these may be replaced between two calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence_iam.gate.account.session import Sessions
from keyfence_iam.gate.denials import Denials
from keyfence_iam.gate.fault_injection import Faults
from keyfence_iam.gate.throughput.partition_limits import Limits

Keep = Callable[[Mapping[str, Mapping[str, str]]], None]
"""Told the texts of all inline policies, by role and name, before a change of them holds."""


def unkept(_: Mapping[str, Mapping[str, str]]) -> None:
    """They end with the gate."""


@dataclass(slots=True, kw_only=True)
class Rules:
    """The sessions bring the account, the key and the clock."""

    sessions: Sessions
    strict: bool = False
    faults: Faults = field(default_factory=Faults)
    denials: Denials = field(default_factory=Denials)
    keep: Keep = unkept
    limits: Limits | None = None
    """Of partitions; without them every partition may use as much as the engine can give."""
