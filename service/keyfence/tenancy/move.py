"""Where a tenant's items are, and the move that brings them elsewhere while it is served."""

from dataclasses import dataclass
from enum import StrEnum


class Placement(StrEnum):
    """Where a tenant's items are: among the others', or in a table of their own."""

    POOL = "POOL"
    SILO = "SILO"

    @property
    def other(self) -> "Placement":
        return Placement.POOL if self is Placement.SILO else Placement.SILO


class MovePhase(StrEnum):
    """How far a move has come. Whoever serves by one of them gets along with whoever serves by the next."""

    PLAN = "PLAN"
    DUAL = "DUAL"
    BACKFILL = "BACKFILL"
    SHADOW = "SHADOW"
    SWITCHED = "SWITCHED"
    CLEARING = "CLEARING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Under way from the other placement to `target`; `migration` is the record of what carries it out."""

    target: Placement
    phase: MovePhase
    migration: str
    back: bool = False
    """It was called off: what was copied goes, and the tenant stays where it was."""

    @property
    def reads(self) -> Placement:
        arrived = self.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}
        return self.target if arrived else self.target.other

    @property
    def writes_both(self) -> bool:
        return self.phase not in {MovePhase.PLAN, MovePhase.CLEARING}

    @property
    def goal(self) -> Placement:
        """Where the tenant will be in the end; one that turned back has it for its target when it is there."""
        return self.target.other if self.back and self.phase is not MovePhase.CLEARING else self.target
