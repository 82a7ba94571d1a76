"""The current time, and times as text in items and keys."""

from datetime import UTC, datetime

from keyfence.errors import BadInput


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp_text(time: datetime) -> str:
    """Returns a time in ISO 8601, in UTC and with a fixed width, so that the texts sort in the order of the times."""
    return to_utc(time).isoformat(timespec="microseconds")[:-6] + "Z"


def to_utc(time: datetime) -> datetime:
    """Returns the same time in UTC. Raises TypeError without a time zone, BadInput outside the years 1 to 9999."""
    if time.tzinfo is None:
        raise TypeError("a time without a time zone cannot be stored")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise BadInput("a time must be within the years 1 to 9999 in UTC") from None
