"""The current time, and times as text in items and keys."""

from datetime import UTC, datetime

from keyfence.errors import BadInput


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp_text(moment: datetime) -> str:
    """Returns ISO 8601 in UTC with a fixed width, so that the order of the texts is the order of the times."""
    return to_utc(moment).isoformat(timespec="microseconds")[:-6] + "Z"


def to_utc(moment: datetime) -> datetime:
    """Returns the same moment in UTC. The days and months in keys are those of UTC."""
    if moment.tzinfo is None:
        raise TypeError("a time without a time zone cannot be ordered")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadInput("a time must be within the years 1 to 9999 in UTC") from None
