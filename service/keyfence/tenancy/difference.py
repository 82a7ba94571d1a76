"""How often the two tables of a move did not say the same."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Of one migration, over all servers."""

    migration: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0
