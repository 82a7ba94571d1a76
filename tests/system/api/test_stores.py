"""Stores through the API: creation, search by distance, and errors that name the field."""

from typing import Any

import pytest

from tests.stack import ApiClient

CREATE = "mutation($i: CreateStoreInput!) { createStore(input: $i) { id name latitude longitude } }"
NEAR = """query($lat: Float!, $lon: Float!, $km: Float!, $first: Int) {
  storesNear(latitude: $lat, longitude: $lon, radiusKm: $km, first: $first) { distanceKm store { id name } }
}"""


async def create_store(owner: ApiClient, name: str, latitude: float, longitude: float) -> dict[str, Any]:
    data = await owner.data(CREATE, i={"name": name, "latitude": latitude, "longitude": longitude})
    store: dict[str, Any] = data["createStore"]
    return store


async def test_the_nearest_store_comes_first_across_the_date_line(owner: ApiClient) -> None:
    for name, longitude in (("east", 179.95), ("west", -179.99), ("far", 179.0)):
        await create_store(owner, name, 0.0, longitude)
    matches = (await owner.data(NEAR, lat=0.0, lon=180.0, km=10.0))["storesNear"]
    assert [match["store"]["name"] for match in matches] == ["west", "east"]
    assert [round(match["distanceKm"], 2) for match in matches] == [1.11, 5.56]
    assert len((await owner.data(NEAR, lat=0.0, lon=180.0, km=10.0, first=1))["storesNear"]) == 1


async def test_a_store_is_returned_as_it_was_created_and_by_its_id(owner: ApiClient) -> None:
    store = await create_store(owner, "Ecke #7 50%", -0.0, -123.456789012)
    assert (store["latitude"], store["longitude"]) == (0.0, -123.456789012)
    data = await owner.data(
        "query($id: ID!) { node(id: $id) { ... on Store { id name latitude longitude } } }", id=store["id"]
    )
    assert data["node"] == store


@pytest.mark.parametrize(
    ("invalid_values", "field"),
    [
        ({"lat": 90.5}, "latitude"),
        ({"lon": -180.5}, "longitude"),
        ({"km": 0.0}, "radiusKm"),
        ({"km": 1e9}, "radiusKm"),
        ({"first": 0}, "first"),
        ({"first": 101}, "first"),
    ],
    ids=str,
)
async def test_an_invalid_search_is_refused_with_its_field(
    owner: ApiClient, invalid_values: dict[str, Any], field: str
) -> None:
    (error,) = (await owner.execute(NEAR, **{"lat": 1.0, "lon": 1.0, "km": 1.0, **invalid_values}))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", field)


@pytest.mark.parametrize(
    ("invalid_values", "field"),
    [({"latitude": -91.0}, "latitude"), ({"longitude": 181.0}, "longitude"), ({"name": " "}, "name")],
)
async def test_a_store_outside_the_earth_is_refused(
    owner: ApiClient, invalid_values: dict[str, Any], field: str
) -> None:
    input = {"name": "Shop", "latitude": 1.0, "longitude": 1.0, **invalid_values}
    (error,) = (await owner.execute(CREATE, i=input))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", field)
