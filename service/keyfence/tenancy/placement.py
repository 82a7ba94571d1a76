"""`Placement`: which table has a tenant's items. `TableMove`: a move to the other table, and its phases."""

from dataclasses import dataclass
from enum import StrEnum


class Placement(StrEnum):
    """Which table has a tenant's items: the shared one (POOL), or one of its own (SILO)."""

    POOL = "POOL"
    SILO = "SILO"

    @property
    def other(self) -> "Placement":
        return Placement.POOL if self is Placement.SILO else Placement.SILO


class MovePhase(StrEnum):
    """The phases of a move. Servers that still use one phase and servers that use the next work together correctly."""

    PLAN = "PLAN"
    DUAL = "DUAL"
    BACKFILL = "BACKFILL"
    SHADOW = "SHADOW"
    SWITCHED = "SWITCHED"
    CLEARING = "CLEARING"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMove:
    """A move from the other placement to `target`, which the job `job_id` runs."""

    target: Placement
    phase: MovePhase
    job_id: str
    is_cancelled: bool = False
    """The copies are deleted, and the tenant stays where it was."""

    @property
    def reads(self) -> Placement:
        arrived = self.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}
        return self.target if arrived else self.target.other

    @property
    def writes_both(self) -> bool:
        return self.phase not in {MovePhase.PLAN, MovePhase.CLEARING}

    @property
    def goal(self) -> Placement:
        """The placement after the move. A cancelled move has its former source as target once it is CLEARING."""
        return self.target.other if self.is_cancelled and self.phase is not MovePhase.CLEARING else self.target
