"""The time that is written into items."""

from datetime import UTC, datetime

from keyfence.errors import BadInput


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp_text(moment: datetime) -> str:
    """ISO 8601 in UTC with a fixed width, so that text order is time order."""
    return to_utc(moment).isoformat(timespec="microseconds")[:-6] + "Z"


def to_utc(moment: datetime) -> datetime:
    """The same moment in UTC, whose days and months are those of all keys."""
    if moment.tzinfo is None:
        raise TypeError("a time without a zone cannot be ordered")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadInput("a time must be within the years 1 to 9999 of UTC") from None
