"""The time, as the gate is told it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """To the second, as policies compare it and as STS prints it."""
    return f"{moment.astimezone(UTC).isoformat()[:19]}Z"
