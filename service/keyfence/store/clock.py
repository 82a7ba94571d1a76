"""The time that is written into items."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
