"""The GraphQL scalars DateTime, Date, Decimal and JSON."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

import strawberry
from strawberry.scalars import JSON
from strawberry.types.scalar import ScalarDefinition

from keyfence.errors import BadInput
from keyfence.store.codec import amount_text
from keyfence.store.timestamps import timestamp_text, to_utc

_DECIMAL = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,18})?")
"""At most 38 digits in total, which is the precision of a number in DynamoDB."""


def _parse_datetime(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadInput("a DateTime is ISO 8601 with a zone, like 2026-11-16T08:30:00Z")
    return to_utc(moment)


def _parse_date(value: object) -> date:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        day = None
    if day is None or day.isoformat() != value:
        raise BadInput("a Date is ISO 8601, like 2026-11-16")
    return day


def _parse_decimal(value: object) -> Decimal:
    """Accepts a string or an integer. Rejects a JSON number with a fraction, because a float may have lost digits."""
    text = str(value) if isinstance(value, str | int) else ""
    if not _DECIMAL.fullmatch(text):
        raise BadInput('a Decimal is a string with at most 20 digits before the point and 18 after it, like "149.90"')
    return Decimal(text) or Decimal(0)  # "-0.00" becomes 0


def _unchanged(value: object) -> object:
    return value


SCALARS: Mapping[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime", description="ISO 8601 in UTC.", serialize=timestamp_text, parse_value=_parse_datetime
    ),
    date: strawberry.scalar(
        name="Date", description="A day in ISO 8601.", serialize=date.isoformat, parse_value=_parse_date
    ),
    Decimal: strawberry.scalar(
        name="Decimal",
        description='An exact number as a string, with two or more decimal places, like "149.90".',
        serialize=amount_text,
        parse_value=_parse_decimal,
    ),
    JSON: strawberry.scalar(name="JSON", description="Any JSON value.", serialize=_unchanged, parse_value=_unchanged),
}
