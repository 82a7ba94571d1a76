"""Categories are created, listed and moved as a tree."""

from typing import Any

import pytest

from keyfence_iam.gate.fault_definition import Fault
from tests.stack import ApiClient, ServiceStack

CREATE = "mutation($path: [String!]!) { createCategory(path: $path) { path name depth } }"
MOVE = "mutation($path: [String!]!, $to: [String!]!) { moveCategory(path: $path, to: $to) }"
CATEGORIES = "query($under: [String!]) { categories(under: $under) { path } }"
PRODUCT = """mutation($path: [String!]!, $sku: String!) {
  createProduct(input: {sku: $sku, name: "N", price: "1", category: $path}) { id } }"""


async def create_categories(client: ApiClient, *paths: list[str]) -> None:
    for path in paths:
        await client.data(CREATE, path=path)


async def category_paths(client: ApiClient, under: list[str] | None = None) -> list[list[str]]:
    return [category["path"] for category in (await client.data(CATEGORIES, under=under))["categories"]]


async def error_code_and_field(client: ApiClient, query: str, **variables: Any) -> tuple[str, str | None]:
    (error,) = (await client.execute(query, **variables))["errors"]
    return error["extensions"]["code"], error["extensions"].get("field")


async def test_a_subtree_does_not_contain_siblings_with_the_same_prefix(owner: ApiClient) -> None:
    await create_categories(owner, ["audio"], ["audio", "books"], ["audiobooks"], ["audio!"], ["audio", "books", "new"])
    assert await category_paths(owner, ["audio"]) == [["audio"], ["audio", "books"], ["audio", "books", "new"]]
    assert len(await category_paths(owner)) == 5
    assert await category_paths(owner, ["audi"]) == []


@pytest.mark.parametrize("name", ["a#b", "100%", "%23", "🦊🦊", "🦊" * 200, "#" * 200, "x" * 200, "a/b", "ä b"])
async def test_any_printable_name_can_be_a_category(owner: ApiClient, name: str) -> None:
    await create_categories(owner, [name], [name[:-1] or "y"])
    category = (await owner.data(CREATE, path=[name, "below"]))["createCategory"]
    assert category == {"path": [name, "below"], "name": "below", "depth": 2}
    assert await category_paths(owner, [name]) == [[name], [name, "below"]]


async def test_an_invalid_category_is_refused_with_its_field(owner: ApiClient) -> None:
    await create_categories(owner, ["a"])
    assert await error_code_and_field(owner, CREATE, path=["a"]) == ("CONFLICT", None)
    assert await error_code_and_field(owner, CREATE, path=[]) == ("BAD_USER_INPUT", "path")
    assert await error_code_and_field(owner, CREATE, path=["a", ""]) == ("BAD_USER_INPUT", "path")
    assert await error_code_and_field(owner, CREATE, path=["b", "c"]) == ("BAD_USER_INPUT", "path")
    assert await error_code_and_field(owner, CREATE, path=["x" * 201]) == ("BAD_USER_INPUT", "path")
    assert await error_code_and_field(owner, CREATE, path=["x" * 200] * 6) == ("BAD_USER_INPUT", "path")
    assert await error_code_and_field(owner, CATEGORIES, under=[]) == ("BAD_USER_INPUT", "under")


async def test_a_category_moves_with_everything_below_and_in_it(owner: ApiClient) -> None:
    await create_categories(owner, ["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["z"])
    await owner.data(PRODUCT, path=["a", "b"], sku="P1")
    assert (await owner.data(MOVE, path=["a"], to=["z", "q"]))["moveCategory"] == 3
    assert await category_paths(owner) == [["ab"], ["z"], ["z", "q"], ["z", "q", "b"], ["z", "q", "b", "c"]]
    product = (await owner.data('{ productBySku(sku: "P1") { category revision } }'))["productBySku"]
    assert product == {"category": ["z", "q", "b"], "revision": 1}
    await create_categories(owner, ["a"])
    assert await category_paths(owner, ["a"]) == [["a"]]


async def test_a_refused_move_says_why(owner: ApiClient) -> None:
    await create_categories(owner, ["a"], ["a", "b"], ["z"])
    assert await error_code_and_field(owner, MOVE, path=["a"], to=["a"]) == ("BAD_USER_INPUT", "to")
    assert await error_code_and_field(owner, MOVE, path=["a"], to=["a", "b", "c"]) == ("BAD_USER_INPUT", "to")
    assert await error_code_and_field(owner, MOVE, path=["a"], to=["z"]) == ("CONFLICT", None)
    assert await error_code_and_field(owner, MOVE, path=["a"], to=["no", "z"]) == ("BAD_USER_INPUT", "to")
    assert await error_code_and_field(owner, MOVE, path=["no"], to=["x"]) == ("NOT_FOUND", None)
    assert await category_paths(owner) == [["a"], ["a", "b"], ["z"]]


@pytest.mark.parametrize("kind", ["throttle", "error", "lost_request", "lost_response"])
async def test_a_move_completes_though_every_second_write_fails(
    stack: ServiceStack, owner: ApiClient, kind: Any
) -> None:
    await create_categories(owner, ["a"], ["a", "b"], ["z"])
    await owner.data(PRODUCT, path=["a"], sku="P1")
    await owner.data(PRODUCT, path=["a", "b"], sku="P2")
    stack.gate.faults = (Fault(kind=kind, operation="TransactWriteItems", every=2),)
    try:
        assert (await owner.data(MOVE, path=["a"], to=["z", "a"]))["moveCategory"] == 2
    finally:
        stack.gate.faults = ()
    assert await category_paths(owner) == [["z"], ["z", "a"], ["z", "a", "b"]]
    paths = await owner.data('{ a: productBySku(sku: "P1") { category } b: productBySku(sku: "P2") { category } }')
    assert paths == {"a": {"category": ["z", "a"]}, "b": {"category": ["z", "a", "b"]}}


async def test_a_move_is_in_the_activity_log_once(owner: ApiClient) -> None:
    await create_categories(owner, ["a"], ["a", "b"])
    await owner.data(MOVE, path=["a"], to=["c"])
    edges = (await owner.data("{ activity { edges { node { kind detail } } } }"))["activity"]["edges"]
    assert [edge["node"]["kind"] for edge in edges] == ["category.moved", "category.created", "category.created"]
    assert edges[0]["node"]["detail"] == {"before": {"path": ["a"]}, "after": {"path": ["c"]}}


async def test_an_interrupted_move_is_in_the_activity_log_as_it_was_requested(owner: ApiClient) -> None:
    deep_path = [["a", *["y" * 190] * depth] for depth in range(6)]
    await create_categories(owner, *deep_path)
    assert await error_code_and_field(owner, MOVE, path=["a"], to=["x" * 200]) == ("BAD_USER_INPUT", "to")
    assert await category_paths(owner) == deep_path
    edges = (await owner.data("{ activity(first: 2) { edges { node { kind detail } } } }"))["activity"]["edges"]
    old_path, new_path = {"path": ["a"]}, {"path": ["x" * 200]}
    assert [edge["node"] for edge in edges] == [
        {"kind": "category.move_cancelled", "detail": {"before": new_path, "after": old_path}},
        {"kind": "category.moved", "detail": {"before": old_path, "after": new_path}},
    ]
