"""What migrations are run with, which only the migrator has."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from keyfence.migrations.records import Records
from keyfence.store.sweep import Sweep
from keyfence.tenancy.migration import Migration


def never() -> bool:
    return False


def nothing(_: object) -> None:
    """Nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The sweep reads; what changes items is the business of steps."""

    records: Records
    sweep: Sweep
    rate: float | None = None
    """Units a second, of reads and writes together, over all segments."""
    page: int | None = None
    """How many items of a segment are scanned from one checkpoint to the next; about a second's worth if None."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    stop: Callable[[], bool] = never
    """Asked between pages."""
    seam: Callable[[str], None] = nothing
    """Called between any two things that could be torn apart."""
    tell: Callable[[Migration], None] = nothing
