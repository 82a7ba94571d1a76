"""Geohashes, and the ranges of geohashes that cover a circle."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import asin, cos, degrees, floor, radians, sin, sqrt
from typing import NamedTuple

from keyfence.errors import BadInput

ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"
LENGTH = 12
BITS = 30
"""Bits of each coordinate. Both together are the 60 bits of 12 characters."""
CELLS = 16
"""The largest number of cells that cover a box."""


class Range(NamedTuple):
    """A range of geohashes, both ends included."""

    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box in degrees. `west` and `east` may be beyond 180 if the box crosses the date line."""

    south: float
    north: float
    west: float
    east: float


class _Cells(NamedTuple):
    """The cells of a box, for geohashes of `bits` bits. Columns may go beyond the date line, rows end at the poles."""

    bits: int
    columns: range
    rows: range

    def __len__(self) -> int:
        return len(self.columns) * len(self.rows)

    def spans(self) -> Iterator[tuple[int, int]]:
        wide, high = BITS - _ceil_half(self.bits), BITS - self.bits // 2
        for column in self.columns:
            for row in self.rows:
                first = _interleaved((column << wide) % (1 << BITS), row << high)
                yield first, first + (1 << 2 * BITS - self.bits)


def encode(latitude: float, longitude: float) -> str:
    return _text(_interleaved(_clamped(_step(longitude, 360)), _clamped(_step(latitude, 180))))


def covering_ranges(box: Box) -> list[Range]:
    """Returns ranges that contain every point of the box. Uses the smallest cells of which at most CELLS are needed."""
    smallest = next(cells for bits in range(2 * BITS, -1, -1) if len(cells := _cells(box, bits)) <= CELLS)
    return [Range(_text(first), _text(end - 1)) for first, end in _joined(smallest.spans())]


def _cells(box: Box, bits: int) -> _Cells:
    wide, high = BITS - _ceil_half(bits), BITS - bits // 2
    west, east = _step(box.west, 360) >> wide, _step(box.east, 360) >> wide
    south, north = (_clamped(_step(side, 180)) >> high for side in (box.south, box.north))
    around = west + (1 << _ceil_half(bits))
    return _Cells(bits, range(west, min(east + 1, around)), range(south, north + 1))


def _ceil_half(number: int) -> int:
    return (number + 1) // 2


def _step(degrees: float, full_range: int) -> int:
    """Returns a coordinate as a number of the smallest steps from the start of its range."""
    return floor((degrees + full_range / 2) / full_range * (1 << BITS))


def _clamped(step: int) -> int:
    return min(max(step, 0), (1 << BITS) - 1)


def _interleaved(column: int, row: int) -> int:
    """Returns the bits of both numbers in turn, the longitude's first, as in a geohash."""
    return sum((column >> bit & 1) << 2 * bit + 1 | (row >> bit & 1) << 2 * bit for bit in range(BITS))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((first, end))
    return joined


def _text(code: int) -> str:
    return "".join(ALPHABET[code >> 5 * position & 31] for position in reversed(range(LENGTH)))


EARTH_KM = 6371.0088
MAX_RADIUS_KM = 20_020
"""A little more than half the circumference of the earth."""
MARGIN = 1e-6
"""Degrees by which the box is larger than the circle. Rounding errors are smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """All points within a distance of a center."""

    latitude: float
    longitude: float
    radius_km: float

    def __post_init__(self) -> None:
        checked_latitude(self.latitude)
        checked_longitude(self.longitude)
        if not 0 < self.radius_km <= MAX_RADIUS_KM:
            raise BadInput(f"radiusKm must be more than 0 and at most {MAX_RADIUS_KM}", field="radiusKm")

    def distance_km(self, latitude: float, longitude: float) -> float:
        """Returns the distance of a point from the center, along the surface of the earth."""
        center, point = radians(self.latitude), radians(latitude)
        north, east = sin((point - center) / 2), sin(radians(longitude - self.longitude) / 2)
        return 2 * EARTH_KM * asin(min(1.0, sqrt(north * north + cos(center) * cos(point) * east * east)))

    def box(self) -> Box:
        """Returns a box around the circle. If the circle contains a pole, the box has all longitudes."""
        angle, center = self.radius_km / EARTH_KM, radians(self.latitude)
        south, north = (degrees(center + side * angle) + side * MARGIN for side in (-1, 1))
        if south <= -90 or north >= 90:
            return Box(south=south, north=north, west=-180.0, east=180.0)
        wide = degrees(asin(min(1.0, sin(angle) / cos(center)))) + MARGIN
        return Box(south=south, north=north, west=self.longitude - wide, east=self.longitude + wide)


def checked_latitude(latitude: float) -> float:
    if not -90 <= latitude <= 90:
        raise BadInput("latitude must be from -90 to 90", field="latitude")
    return latitude


def checked_longitude(longitude: float) -> float:
    if not -180 <= longitude <= 180:
        raise BadInput("longitude must be from -180 to 180", field="longitude")
    return longitude
