"""Products through the API."""

from typing import Any

import pytest

from keyfence.auth.principal import Role
from tests.stack import ApiClient, ServiceStack

CREATE = """mutation(
  $sku: String!, $price: Decimal! = "1.10", $category: [String!]! = ["office"], $name: String! = "Pen"
) {
  createProduct(input: {sku: $sku, name: $name, price: $price, category: $category}) {
    id sku name price currency category revision version views createdAt updatedAt } }"""
REVISE = """mutation($id: ID!, $input: ReviseProductInput!, $v: Int) {
  reviseProduct(id: $id, input: $input, expectedVersion: $v) { name price category revision version } }"""
VIEW = "mutation($id: ID!) { countProductView(id: $id) }"
PRODUCTS = """query($path: [String!]! = ["office"], $min: Decimal, $max: Decimal, $first: Int, $after: String) {
  productsInCategory(path: $path, minPrice: $min, maxPrice: $max, first: $first, after: $after) {
    pageInfo { hasNextPage endCursor } edges { node { id sku price revision } } } }"""


@pytest.fixture
async def shop(owner: ApiClient) -> ApiClient:
    await owner.data('mutation { createCategory(path: ["office"]) { depth } }')
    return owner


async def create_product(client: ApiClient, sku: str, **values: Any) -> dict[str, Any]:
    product: dict[str, Any] = (await client.data(CREATE, sku=sku, **values))["createProduct"]
    return product


async def error_code_and_field(client: ApiClient, query: str, **variables: Any) -> tuple[str, str | None]:
    (error,) = (await client.execute(query, **variables))["errors"]
    return error["extensions"]["code"], error["extensions"].get("field")


async def test_a_product_is_found_by_id_by_sku_and_as_a_node(shop: ApiClient) -> None:
    product = await create_product(shop, "A#1", price="149.90")
    assert (product["price"], product["currency"], product["revision"], product["views"]) == ("149.90", "EUR", 1, 0)
    query = """query($id: ID!) {
        product(id: $id) { ...All } productBySku(sku: "A#1") { ...All } node(id: $id) { ...All } }
      fragment All on Product { id sku name price currency category revision version views createdAt updatedAt }"""
    data = await shop.data(query, id=product["id"])
    assert data == {"product": product, "productBySku": product, "node": product}


async def test_an_unknown_product_is_null(shop: ApiClient) -> None:
    unknown_id = "prd_" + "0" * 26
    data = await shop.data('query($id: ID!) { product(id: $id) { id } productBySku(sku: "x") { id } }', id=unknown_id)
    assert data == {"product": None, "productBySku": None}
    assert await shop.error_code(VIEW, id=unknown_id) == "NOT_FOUND"
    assert await shop.error_code(REVISE, id=unknown_id, input={"name": "X"}) == "NOT_FOUND"


@pytest.mark.parametrize(
    ("values", "code", "field"),
    [
        ({"sku": "A-1"}, "CONFLICT", "sku"),
        ({"sku": ""}, "BAD_USER_INPUT", "sku"),
        ({"sku": "B", "price": "-0.01"}, "BAD_USER_INPUT", "price"),
        ({"sku": "B", "price": "10000000"}, "BAD_USER_INPUT", "price"),
        ({"sku": "B", "price": "0.001"}, "BAD_USER_INPUT", "price"),
        ({"sku": "B", "category": ["nowhere"]}, "BAD_USER_INPUT", "category"),
        ({"sku": "B", "category": []}, "BAD_USER_INPUT", "category"),
        ({"sku": "B", "name": " "}, "BAD_USER_INPUT", "name"),
    ],
)
async def test_an_invalid_product_is_refused_with_its_field(
    shop: ApiClient, values: dict[str, Any], code: str, field: str
) -> None:
    await create_product(shop, "A-1")
    assert await error_code_and_field(shop, CREATE, **values) == (code, field)
    data = await shop.data(PRODUCTS)
    assert [edge["node"]["sku"] for edge in data["productsInCategory"]["edges"]] == ["A-1"]


async def test_a_revision_keeps_the_old_values_and_the_author(stack: ServiceStack, shop: ApiClient) -> None:
    product = await create_product(shop, "A-1")
    admin = stack.api_client(shop.tenant, Role.ADMIN, user="usr_ada")
    revised = await admin.data(REVISE, id=product["id"], input={"price": "2"}, v=1)
    assert revised["reviseProduct"] == {
        "name": "Pen",
        "price": "2.00",
        "category": ["office"],
        "revision": 2,
        "version": 2,
    }
    assert await admin.error_code(REVISE, id=product["id"], input={"price": "3"}, v=1) == "CONFLICT"
    assert await error_code_and_field(admin, REVISE, id=product["id"], input={"price": None}) == (
        "BAD_USER_INPUT",
        "price",
    )
    unchanged = await admin.data(REVISE, id=product["id"], input={"price": "2.00", "name": "Pen"})
    assert unchanged["reviseProduct"]["version"] == 2
    query = "query($id: ID!) { product(id: $id) { revisions { edges { node { revision name price by at } } } } }"
    edges = (await shop.data(query, id=product["id"]))["product"]["revisions"]["edges"]
    assert [edge["node"] | {"at": ""} for edge in edges] == [
        {"revision": 2, "name": "Pen", "price": "2.00", "by": "usr_ada", "at": ""},
        {"revision": 1, "name": "Pen", "price": "1.10", "by": "somebody", "at": ""},
    ]
    assert edges[1]["node"]["at"] == product["createdAt"] < edges[0]["node"]["at"]


async def test_the_activity_log_has_prices_as_the_product_has_them(shop: ApiClient) -> None:
    product = await create_product(shop, "A-1", price="10.00")
    await shop.data(REVISE, id=product["id"], input={"price": "12.5"})
    edges = (await shop.data("{ activity(first: 2) { edges { node { detail } } } }"))["activity"]["edges"]
    revised, created = (edge["node"]["detail"] for edge in edges)
    assert created["after"]["price"] == product["price"] == "10.00"
    assert revised == {"before": {"price": "10.00"}, "after": {"price": "12.50"}}


async def test_products_of_a_category_are_listed_by_price(shop: ApiClient) -> None:
    for price in ("10", "9.99", "100", "0"):
        await create_product(shop, f"P{price}", price=price)
    all_products = (await shop.data(PRODUCTS))["productsInCategory"]["edges"]
    assert [edge["node"]["price"] for edge in all_products] == ["0.00", "9.99", "10.00", "100.00"]
    cheap_products = (await shop.data(PRODUCTS, min="9.99", max="10"))["productsInCategory"]["edges"]
    assert [edge["node"]["price"] for edge in cheap_products] == ["9.99", "10.00"]
    page = (await shop.data(PRODUCTS, max="99", first=2))["productsInCategory"]
    assert page["pageInfo"]["hasNextPage"] is True
    remaining_products = (await shop.data(PRODUCTS, max="99", first=2, after=page["pageInfo"]["endCursor"]))[
        "productsInCategory"
    ]
    assert [edge["node"]["price"] for edge in remaining_products["edges"]] == ["10.00"]
    assert await shop.error_code(PRODUCTS, after=page["pageInfo"]["endCursor"]) == "BAD_USER_INPUT"
    assert await error_code_and_field(shop, PRODUCTS, min="-1") == ("BAD_USER_INPUT", "minPrice")
    assert await error_code_and_field(shop, PRODUCTS, max="0.001") == ("BAD_USER_INPUT", "maxPrice")
    assert await error_code_and_field(shop, PRODUCTS, path=[]) == ("BAD_USER_INPUT", "path")


async def test_views_are_counted_for_each_product_and_shown_in_lists_for_one_batch(
    stack: ServiceStack, shop: ApiClient
) -> None:
    first, second = await create_product(shop, "A"), await create_product(shop, "B")
    member = stack.api_client(shop.tenant, Role.MEMBER)
    for id in (first["id"], first["id"], second["id"]):
        assert (await member.data(VIEW, id=id))["countProductView"] is True
    stack.take_calls()
    data = await shop.data('{ productsInCategory(path: ["office"]) { edges { node { sku views } } } }')
    assert {edge["node"]["sku"]: edge["node"]["views"] for edge in data["productsInCategory"]["edges"]} == {
        "A": 2,
        "B": 1,
    }
    assert stack.take_operations() == ["Query", "BatchGetItem"]
