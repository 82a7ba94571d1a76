"""`Placement`: which table has a tenant's items. `TableMove`: a move to the other table, and its phases."""

from dataclasses import dataclass
from enum import StrEnum


class Placement(StrEnum):
    """Which table has a tenant's items: the table that tenants share (POOL), or a table of its own (SILO)."""

    POOL = "POOL"
    SILO = "SILO"

    @property
    def other(self) -> "Placement":
        return Placement.POOL if self is Placement.SILO else Placement.SILO


class MovePhase(StrEnum):
    """The phases of a move, in their order. Servers learn of a new phase at different times. Therefore a server in one
    phase writes to every table that servers in the phase before it and in the phase after it read."""

    PLAN = "PLAN"
    """Nothing has changed for servers yet."""
    DUAL = "DUAL"
    """Servers write to both tables, and read the old one."""
    BACKFILL = "BACKFILL"
    """The job copies the items that were written before DUAL. Servers continue as in DUAL."""
    SHADOW = "SHADOW"
    """Servers read both tables and compare the items. They answer with the items of the old table."""
    SWITCHED = "SWITCHED"
    """Servers read the new table, and still write to both."""
    CLEARING = "CLEARING"
    """Servers use only the new table. The job deletes the items of the old one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMove:
    """A move to the placement `target` from the other placement. The job `job_id` executes it."""

    target: Placement
    phase: MovePhase
    job_id: str
    is_cancelled: bool = False
    """If True, the job deletes the copies in the target, and the tenant stays in its former placement."""

    @property
    def read_placement(self) -> Placement:
        has_switched = self.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}
        return self.target if has_switched else self.target.other

    @property
    def writes_both_tables(self) -> bool:
        return self.phase not in {MovePhase.PLAN, MovePhase.CLEARING}

    @property
    def final_placement(self) -> Placement:
        """The placement of the tenant when the move has ended.

        A cancelled move ends in the placement where it began. When a cancelled move enters CLEARING, that placement
        becomes the `target`, so that the job deletes the items of the other table, as in any other move."""
        if self.is_cancelled and self.phase is not MovePhase.CLEARING:
            return self.target.other
        return self.target
