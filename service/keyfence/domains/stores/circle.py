"""Circles on the globe: what is in them, and the box around them."""

from dataclasses import dataclass
from math import asin, cos, degrees, radians, sin, sqrt

from keyfence.domains.stores.geohash import Box
from keyfence.errors import BadInput

EARTH_KM = 6371.0088
FARTHEST_KM = 20_020
"""A little more than half way around."""
MARGIN = 1e-6
"""Degrees by which the box is larger than the circle, as no rounding is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """All places within a distance of one."""

    latitude: float
    longitude: float
    radius_km: float

    def __post_init__(self) -> None:
        checked_latitude(self.latitude)
        checked_longitude(self.longitude)
        if not 0 < self.radius_km <= FARTHEST_KM:
            raise BadInput(f"radiusKm must be more than 0 and at most {FARTHEST_KM}", field="radiusKm")

    def distance_km(self, latitude: float, longitude: float) -> float:
        """Of a place from the centre, along the ground."""
        here, there = radians(self.latitude), radians(latitude)
        up, along = sin((there - here) / 2), sin(radians(longitude - self.longitude) / 2)
        return 2 * EARTH_KM * asin(min(1.0, sqrt(up * up + cos(here) * cos(there) * along * along)))

    def box(self) -> Box:
        """Around a pole, that is everything up to it."""
        reach, here = self.radius_km / EARTH_KM, radians(self.latitude)
        south, north = (degrees(here + side * reach) + side * MARGIN for side in (-1, 1))
        if south <= -90 or north >= 90:
            return Box(south=south, north=north, west=-180.0, east=180.0)
        wide = degrees(asin(min(1.0, sin(reach) / cos(here)))) + MARGIN
        return Box(south=south, north=north, west=self.longitude - wide, east=self.longitude + wide)


def checked_latitude(latitude: float) -> float:
    if not -90 <= latitude <= 90:
        raise BadInput("latitude must be from -90 to 90", field="latitude")
    return latitude


def checked_longitude(longitude: float) -> float:
    if not -180 <= longitude <= 180:
        raise BadInput("longitude must be from -180 to 180", field="longitude")
    return longitude
