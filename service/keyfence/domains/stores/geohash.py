"""Geohashes, circles on the earth, and the ranges of geohashes that cover a circle.

A geohash is the number of a cell of the earth's surface, written in base 32. The bits of the number come from the
longitude and the latitude in turn. So points that are close to each other mostly share a prefix. More bits mean smaller
cells."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import asin, cos, degrees, floor, radians, sin, sqrt
from typing import NamedTuple

from keyfence.errors import BadInput

ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"
GEOHASH_LENGTH = 12
COORDINATE_BITS = 30
"""Bits of each coordinate. Both together are the 60 bits of 12 characters."""
MAX_CELLS = 16
"""The largest number of cells that may cover a box. More cells fit the box better, but need more queries."""


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
    """The cells that cover a box. `bits` is the number of bits of a cell's geohash.

    Columns may go beyond the date line. Rows end at the poles."""

    bits: int
    columns: range
    rows: range

    def __len__(self) -> int:
        return len(self.columns) * len(self.rows)

    def code_ranges(self) -> Iterator[tuple[int, int]]:
        """Yields the first 60-bit code of each cell, and the first code after the cell."""
        column_shift, row_shift = _shifts(self.bits)
        for column in self.columns:
            for row in self.rows:
                first = _interleave((column << column_shift) % (1 << COORDINATE_BITS), row << row_shift)
                yield first, first + (1 << 2 * COORDINATE_BITS - self.bits)


def encode(latitude: float, longitude: float) -> str:
    return _to_text(_interleave(_clamp(_scale(longitude, 360)), _clamp(_scale(latitude, 180))))


def covering_ranges(box: Box) -> list[Range]:
    """Returns ranges that contain every point of the box.

    Covers the box with at most MAX_CELLS cells, which are as small as possible."""
    bit_counts = range(2 * COORDINATE_BITS, -1, -1)
    cells = next(cells for bits in bit_counts if len(cells := _cells_of_box(box, bits)) <= MAX_CELLS)
    return [Range(_to_text(first), _to_text(end - 1)) for first, end in _join_adjacent(cells.code_ranges())]


def _cells_of_box(box: Box, bits: int) -> _Cells:
    column_shift, row_shift = _shifts(bits)
    west, east = _scale(box.west, 360) >> column_shift, _scale(box.east, 360) >> column_shift
    south, north = (_clamp(_scale(side, 180)) >> row_shift for side in (box.south, box.north))
    columns_on_globe = 1 << COORDINATE_BITS - column_shift
    return _Cells(bits, range(west, min(east + 1, west + columns_on_globe)), range(south, north + 1))


def _shifts(bits: int) -> tuple[int, int]:
    """Returns how many low bits of longitude and latitude a geohash of `bits` bits lacks.

    The longitude comes first in a geohash, so it has one bit more if `bits` is odd."""
    longitude_bits, latitude_bits = (bits + 1) // 2, bits // 2
    return COORDINATE_BITS - longitude_bits, COORDINATE_BITS - latitude_bits


def _scale(degrees: float, full_range: int) -> int:
    """Returns a coordinate as an integer. The range of the coordinate, `full_range` degrees, becomes 0 to 2**30."""
    return floor((degrees + full_range / 2) / full_range * (1 << COORDINATE_BITS))


def _clamp(scaled: int) -> int:
    return min(max(scaled, 0), (1 << COORDINATE_BITS) - 1)


def _interleave(column: int, row: int) -> int:
    """Returns the bits of both numbers in turn, beginning with the column."""
    return sum((column >> bit & 1) << 2 * bit + 1 | (row >> bit & 1) << 2 * bit for bit in range(COORDINATE_BITS))


def _join_adjacent(code_ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, end in sorted(code_ranges):
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((first, end))
    return joined


def _to_text(code: int) -> str:
    return "".join(ALPHABET[code >> 5 * position & 31] for position in reversed(range(GEOHASH_LENGTH)))


EARTH_RADIUS_KM = 6371.0088
MAX_RADIUS_KM = 20_020
"""A little more than the largest distance between two points, which is half the circumference of the earth."""
BOX_MARGIN_DEGREES = 1e-6
"""How much larger the box is than the circle, so that no rounding error leaves out a point of the circle."""


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
        north_south = sin((point - center) / 2) ** 2
        east_west = sin(radians(longitude - self.longitude) / 2) ** 2
        haversine = north_south + cos(center) * cos(point) * east_west
        return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(haversine)))

    def box(self) -> Box:
        """Returns a box around the circle. If the circle contains a pole, the box has all longitudes."""
        angle, center = self.radius_km / EARTH_RADIUS_KM, radians(self.latitude)
        south, north = (degrees(center + sign * angle) + sign * BOX_MARGIN_DEGREES for sign in (-1, 1))
        if south <= -90 or north >= 90:
            return Box(south=south, north=north, west=-180.0, east=180.0)
        half_width = degrees(asin(min(1.0, sin(angle) / cos(center)))) + BOX_MARGIN_DEGREES
        return Box(south=south, north=north, west=self.longitude - half_width, east=self.longitude + half_width)


def checked_latitude(latitude: float) -> float:
    if not -90 <= latitude <= 90:
        raise BadInput("latitude must be from -90 to 90", field="latitude")
    return latitude


def checked_longitude(longitude: float) -> float:
    if not -180 <= longitude <= 180:
        raise BadInput("longitude must be from -180 to 180", field="longitude")
    return longitude
