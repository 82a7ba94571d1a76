"""Stores, and the rules that hold without looking anything up."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NewType

from keyfence.domains.stores.geohash import checked_latitude, checked_longitude, encode
from keyfence.validation import checked_line

StoreId = NewType("StoreId", str)

NAME_LENGTH = 200
PLACES = 12
"""Digits of a degree that are kept: far less than a hair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A place with a name; `geohash` is that of its coordinates."""

    id: StoreId
    name: str
    latitude: Decimal
    longitude: Decimal
    geohash: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """A store and how far it is."""

    store: Store
    distance_km: float


def new_store(*, id: StoreId, name: str, latitude: float, longitude: float, now: datetime) -> Store:
    """A new store, at exactly the place that its geohash is made from."""
    north, east = _degrees(checked_latitude(latitude)), _degrees(checked_longitude(longitude))
    return Store(
        id=id,
        name=checked_line(name, "name", NAME_LENGTH),
        latitude=north,
        longitude=east,
        geohash=encode(float(north), float(east)),
        created_at=now,
        updated_at=now,
    )


def _degrees(number: float) -> Decimal:
    return Decimal(repr(round(number, PLACES) + 0.0))
