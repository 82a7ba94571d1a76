"""`Store` and `NearbyStore`, and checks of their fields."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NewType

from keyfence.domains.stores.geohash import checked_latitude, checked_longitude, encode
from keyfence.validation import checked_line

StoreId = NewType("StoreId", str)

MAX_NAME_LENGTH = 200
DECIMAL_PLACES = 12
"""Decimal places of stored coordinates, in degrees. The last place is less than a micrometer on the ground."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A store. Its coordinates are in degrees; `geohash` encodes both of them."""

    id: StoreId
    name: str
    latitude: Decimal
    longitude: Decimal
    geohash: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyStore:
    """A store and its distance from the center of a search."""

    store: Store
    distance_km: float


def new_store(*, id: StoreId, name: str, latitude: float, longitude: float, now: datetime) -> Store:
    """Returns a new store. The geohash is computed from the rounded coordinates, which are the ones that are stored."""
    stored_latitude = _rounded_degrees(checked_latitude(latitude))
    stored_longitude = _rounded_degrees(checked_longitude(longitude))
    return Store(
        id=id,
        name=checked_line(name, "name", MAX_NAME_LENGTH),
        latitude=stored_latitude,
        longitude=stored_longitude,
        geohash=encode(float(stored_latitude), float(stored_longitude)),
        created_at=now,
        updated_at=now,
    )


def _rounded_degrees(number: float) -> Decimal:
    return Decimal(repr(round(number, DECIMAL_PLACES) + 0.0))  # + 0.0 turns -0.0 into 0.0
