"""Scalars as the contract spells them."""

from collections.abc import Mapping
from datetime import datetime

import strawberry
from strawberry.scalars import JSON
from strawberry.types.scalar import ScalarDefinition

from service.errors import BadInput
from service.store.template import instant


def _datetime(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadInput("a DateTime is ISO 8601 with a zone, like 2026-11-16T08:30:00Z")
    return moment


def _same(value: object) -> object:
    return value


SCALARS: Mapping[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime", description="ISO 8601 in UTC.", serialize=instant, parse_value=_datetime
    ),
    JSON: strawberry.scalar(name="JSON", description="Any JSON value.", serialize=_same, parse_value=_same),
}
