"""Geohashes: places as text in which neighbours mostly share a beginning, and the ranges of it that cover a box."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"
LENGTH = 12
BITS = 30
"""Of each coordinate; both together are the 60 bits of twelve letters."""
CELLS = 16
"""The most cells that a cover has."""


class Range(NamedTuple):
    """From one geohash to another, both included."""

    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Degrees; west and east may reach beyond 180 where the box crosses the date line."""

    south: float
    north: float
    west: float
    east: float


class _Cells(NamedTuple):
    """Columns and rows of the cells with `bits` bits: columns may reach beyond the date line, rows end at the poles."""

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


def cover(box: Box) -> list[Range]:
    """Ranges that hold every place in the box: of the smallest cells of which a few suffice, neighbours joined."""
    few = next(cells for bits in range(2 * BITS, -1, -1) if len(cells := _cells(box, bits)) <= CELLS)
    return [Range(_text(first), _text(end - 1)) for first, end in _joined(few.spans())]


def _cells(box: Box, bits: int) -> _Cells:
    wide, high = BITS - _ceil_half(bits), BITS - bits // 2
    west, east = _step(box.west, 360) >> wide, _step(box.east, 360) >> wide
    south, north = (_clamped(_step(side, 180)) >> high for side in (box.south, box.north))
    around = west + (1 << _ceil_half(bits))
    return _Cells(bits, range(west, min(east + 1, around)), range(south, north + 1))


def _ceil_half(number: int) -> int:
    return (number + 1) // 2


def _step(degrees: float, whole: int) -> int:
    """How many of the smallest steps a coordinate is away from where they begin."""
    return floor((degrees + whole / 2) / whole * (1 << BITS))


def _clamped(step: int) -> int:
    return min(max(step, 0), (1 << BITS) - 1)


def _interleaved(column: int, row: int) -> int:
    """The bits of both in turn, as geohashes have them: first one of the longitude."""
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
    return "".join(ALPHABET[code >> 5 * place & 31] for place in reversed(range(LENGTH)))
