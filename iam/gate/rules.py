"""What a running gate goes by; each of these may be replaced between two calls."""

from dataclasses import dataclass, field

from iam.gate.denial import Denials
from iam.gate.faults.plan import Faults
from iam.gate.sessions import Sessions


@dataclass(slots=True, kw_only=True)
class Rules:
    """The sessions bring the account, the key and the clock."""

    sessions: Sessions
    strict: bool = False
    faults: Faults = field(default_factory=Faults)
    denials: Denials = field(default_factory=Denials)
