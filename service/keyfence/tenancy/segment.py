"""A part of a pass that a migration makes over a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keyfence.tenancy.migration import MigrationId


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a pass, as far as its items were dealt with."""

    migration: MigrationId
    name: str
    """Of the pass."""
    number: int
    of: int
    after: str | None = None
    """Where the scan goes on: DynamoDB's LastEvaluatedKey as JSON text."""
    scanned: int = 0
    changed: int = 0
    wrong: int = 0
    digest: str = ""
    """Of what was changed, or compared, in whatever order."""
    counts: Mapping[str, int] = field(default_factory=dict)
    done: bool = False
    created_at: datetime
    updated_at: datetime
    version: int = 0
    """0 before it was ever kept."""
