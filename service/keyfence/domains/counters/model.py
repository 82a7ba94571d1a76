"""Counters, each the sum of its parts."""

import secrets
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A part of a number; `part` is what picked its slot, and says nothing more."""

    name: str
    part: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


def any_part(name: str, now: datetime) -> Counter:
    """Left to chance, so that those who count at the same time meet in no slot more than they must."""
    return Counter(name=name, part=secrets.token_hex(4), created_at=now, updated_at=now)
