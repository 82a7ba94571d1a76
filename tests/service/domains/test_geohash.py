"""Geohashes, and the ranges that cover a circle."""

from math import atan2, cos, degrees, radians, sin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.domains.stores.geohash import (
    ALPHABET,
    EARTH_RADIUS_KM,
    GEOHASH_LENGTH,
    MAX_CELLS,
    MAX_RADIUS_KM,
    Circle,
    Range,
    covering_ranges,
    encode,
)
from keyfence.errors import BadInput

LATITUDES = st.floats(-90, 90) | st.sampled_from([-90.0, -89.9999, 0.0, 45.0, 89.9999, 90.0])
LONGITUDES = st.floats(-180, 180) | st.sampled_from([-180.0, -179.9999, 0.0, 90.0, 179.9999, 180.0])
RADII = st.floats(0.001, 50) | st.floats(50, MAX_RADIUS_KM)
CIRCLES = st.builds(Circle, latitude=LATITUDES, longitude=LONGITUDES, radius_km=RADII)


def covered(ranges: list[Range], latitude: float, longitude: float) -> bool:
    return any(low <= encode(latitude, longitude) <= high for low, high in ranges)


@pytest.mark.parametrize(
    ("latitude", "longitude", "geohash"),
    [
        (57.64911, 10.40744, "u4pruydqqvj"),
        (42.6, -5.6, "ezs42"),
        (-25.382708, -49.265506, "6gkzwgjzn820"),
        (0.0, 0.0, "s00000000000"),
        (90.0, 180.0, "zzzzzzzzzzzz"),
        (-90.0, -180.0, "000000000000"),
    ],
)
def test_a_geohash_equals_published_examples(latitude: float, longitude: float, geohash: str) -> None:
    assert encode(latitude, longitude).startswith(geohash)


@given(LATITUDES, LONGITUDES)
def test_every_point_has_twelve_characters(latitude: float, longitude: float) -> None:
    text = encode(latitude, longitude)
    assert len(text) == GEOHASH_LENGTH
    assert set(text) <= set(ALPHABET)
    assert sorted(ALPHABET) == list(ALPHABET), "otherwise a range of codes is not a range of texts"


@given(CIRCLES, LATITUDES, LONGITUDES)
@example(Circle(latitude=0, longitude=180, radius_km=1), 0.0, -180.0)
@example(Circle(latitude=0, longitude=-180, radius_km=1), 0.0, 180.0)
@example(Circle(latitude=90, longitude=0, radius_km=1), 90.0, 123.0)
@example(Circle(latitude=-89.99, longitude=0, radius_km=5), -89.99, 180.0)
def test_a_point_in_the_circle_is_in_the_covering_ranges(circle: Circle, latitude: float, longitude: float) -> None:
    if circle.distance_km(latitude, longitude) <= circle.radius_km:
        assert covered(covering_ranges(circle.box()), latitude, longitude)


@given(CIRCLES, st.floats(0, 360), st.floats(0, 1))
def test_a_point_at_any_bearing_up_to_the_radius_is_in_the_covering_ranges(
    circle: Circle, bearing: float, part: float
) -> None:
    latitude, longitude = destination(circle, radians(bearing), part * 0.999999)
    assert covered(covering_ranges(circle.box()), latitude, longitude)


def destination(circle: Circle, bearing: float, part: float) -> tuple[float, float]:
    """Returns the point in direction `bearing`, in radians, at `part` of the radius from the center."""
    center, angle = radians(circle.latitude), part * circle.radius_km / EARTH_RADIUS_KM
    sine = sin(center) * cos(angle) + cos(center) * sin(angle) * cos(bearing)
    east, north = sin(bearing) * sin(angle) * cos(center), cos(angle) - sin(center) * sine
    longitude = circle.longitude + degrees(atan2(east, north))
    latitude = degrees(atan2(sine, max(0.0, 1 - sine * sine) ** 0.5))
    return latitude, (longitude + 180) % 360 - 180


@given(CIRCLES)
def test_covering_ranges_are_few_sorted_and_disjoint(circle: Circle) -> None:
    ranges = covering_ranges(circle.box())
    assert 1 <= len(ranges) <= MAX_CELLS
    ends = [end for range_ in ranges for end in range_]
    assert ends == sorted(ends)


@given(st.floats(-60, 60), LONGITUDES, st.floats(0.01, 500))
def test_away_from_the_poles_covering_ranges_are_not_much_larger_than_the_circle(
    latitude: float, longitude: float, radius: float
) -> None:
    """Points at three and a half times the radius are not covered, so a search reads few stores outside the circle."""
    ranges = covering_ranges(Circle(latitude=latitude, longitude=longitude, radius_km=radius).box())
    larger_circle = Circle(latitude=latitude, longitude=longitude, radius_km=radius * 3.5)
    for bearing in range(0, 360, 15):
        assert not covered(ranges, *destination(larger_circle, radians(bearing), 1.0))


def test_the_complete_globe_is_one_range() -> None:
    assert covering_ranges(Circle(latitude=12, longitude=34, radius_km=MAX_RADIUS_KM).box()) == [
        Range("0" * 12, "z" * 12)
    ]


@given(LATITUDES, LONGITUDES, LATITUDES, LONGITUDES)
def test_distance_is_the_same_in_both_directions(
    latitude: float, longitude: float, other_latitude: float, other_longitude: float
) -> None:
    there = Circle(latitude=latitude, longitude=longitude, radius_km=1).distance_km(other_latitude, other_longitude)
    back = Circle(latitude=other_latitude, longitude=other_longitude, radius_km=1).distance_km(latitude, longitude)
    assert there == pytest.approx(back)
    assert 0 <= there < MAX_RADIUS_KM


@pytest.mark.parametrize(
    ("one", "other", "km"),
    [
        ((52.52, 13.405), (48.1372, 11.5756), 504.4),
        ((0, 179.9), (0, -179.9), 22.2),
        ((89.9, 0), (89.9, 180), 22.2),
        ((-33.8688, 151.2093), (51.5074, -0.1278), 16993.9),
    ],
    ids=["Berlin to Munich", "over the date line", "over the pole", "Sydney to London"],
)
def test_distances_equal_known_distances_on_the_globe(
    one: tuple[float, float], other: tuple[float, float], km: float
) -> None:
    assert Circle(latitude=one[0], longitude=one[1], radius_km=1).distance_km(*other) == pytest.approx(km, abs=0.5)


@pytest.mark.parametrize(
    ("circle", "field"),
    [
        ((90.01, 0, 1), "latitude"),
        ((-91, 0, 1), "latitude"),
        ((0, 180.5, 1), "longitude"),
        ((0, -181, 1), "longitude"),
        ((0, 0, 0), "radiusKm"),
        ((0, 0, -1), "radiusKm"),
        ((0, 0, MAX_RADIUS_KM + 1), "radiusKm"),
        ((float("nan"), 0, 1), "latitude"),
        ((0, 0, float("inf")), "radiusKm"),
    ],
)
def test_an_invalid_circle_is_bad_input_with_the_name_of_the_field(
    circle: tuple[float, float, float], field: str
) -> None:
    latitude, longitude, radius = circle
    with pytest.raises(BadInput) as refused:
        Circle(latitude=latitude, longitude=longitude, radius_km=radius)
    assert refused.value.extensions == {"field": field}
