"""Stores are found by true distance everywhere on the globe, and the cost of a search is limited."""

import random

import pytest

from keyfence.domains.stores import repository
from keyfence.domains.stores.geohash import MAX_CELLS, Circle
from keyfence.domains.stores.repository import StoreRepository
from keyfence.errors import BadInput
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

PLACES = {
    "cell border": (0.0, 0.0),
    "date line": (-16.5, 180.0),
    "north pole": (89.95, 10.0),
    "south pole": (-90.0, 0.0),
    "Berlin": (52.52, 13.405),
}


def random_positions(centre: tuple[float, float], count: int, seed: int) -> list[tuple[float, float]]:
    """Returns random positions around a centre. Some are beyond the date line or the pole."""
    rng = random.Random(seed)
    is_polar = abs(centre[0]) > 89
    positions = []
    for _ in range(count):
        latitude = max(-90.0, min(90.0, centre[0] + rng.uniform(-0.5, 0.5)))
        longitude = rng.uniform(-180, 180) if is_polar else centre[1] + rng.uniform(-0.5, 0.5)
        positions.append((latitude, (longitude + 180) % 360 - 180))
    return positions


@pytest.mark.parametrize("place", PLACES)
async def test_a_search_finds_the_same_stores_as_measuring_every_distance(
    stack: ServiceStack, tenant: TenantId, place: str
) -> None:
    stores = StoreRepository(stack.table(tenant))
    created = [
        await stores.create(name=f"S{number}", latitude=latitude, longitude=longitude)
        for number, (latitude, longitude) in enumerate(random_positions(PLACES[place], 30, len(place)))
    ]
    for radius in (0.5, 20.0, 60.0):
        circle = Circle(latitude=PLACES[place][0], longitude=PLACES[place][1], radius_km=radius)
        measured = [(circle.distance_km(float(one.latitude), float(one.longitude)), one.id) for one in created]
        expected = sorted(pair for pair in measured if pair[0] <= radius)
        found = await stores.near(circle, first=100)
        assert [(one.distance_km, one.store.id) for one in found] == expected
        assert [one.store.id for one in await stores.near(circle, first=5)] == [id for _, id in expected[:5]]


async def test_a_search_costs_one_query_for_each_range_of_geohashes(stack: ServiceStack, tenant: TenantId) -> None:
    stores = StoreRepository(stack.table(tenant, may_write=False))
    stack.take_calls()
    await stores.near(Circle(latitude=52.52, longitude=13.405, radius_km=25), first=20)
    calls = stack.take_calls()
    assert {call.operation for call in calls} == {"Query"}
    assert 1 <= len(calls) <= MAX_CELLS


async def test_a_search_with_too_many_candidates_asks_for_a_smaller_circle(
    stack: ServiceStack, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MAX_CANDIDATES", 10)
    stores = StoreRepository(stack.table(tenant))
    for number in range(10):
        await stores.create(name=f"S{number}", latitude=52.5 + number * 0.0001, longitude=13.4)
    assert len(await stores.near(Circle(latitude=52.5, longitude=13.4, radius_km=500), first=100)) == 10
    await stores.create(name="S10", latitude=55, longitude=13.4)
    assert len(await stores.near(Circle(latitude=52.5, longitude=13.4, radius_km=5), first=100)) == 10
    with pytest.raises(BadInput) as refused:
        await stores.near(Circle(latitude=52.5, longitude=13.4, radius_km=500), first=1)
    assert refused.value.extensions == {"field": "radiusKm"}


async def test_stores_of_another_tenant_are_not_found(stack: ServiceStack, tenant: TenantId) -> None:
    await StoreRepository(stack.table(await stack.new_tenant())).create(name="Theirs", latitude=1, longitude=1)
    assert await StoreRepository(stack.table(tenant)).near(Circle(latitude=1, longitude=1, radius_km=9), first=9) == []
