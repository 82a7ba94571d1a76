"""A tree of categories is read with one Query, and a subtree is moved without losing a category or a product."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import pytest

from keyfence.domains.categories import category_mover
from keyfence.domains.categories.access_patterns import last_move
from keyfence.domains.categories.model import Category
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.products import category_products
from keyfence.domains.products.repository import ProductRepository
from keyfence.errors import BadInput, Conflict, KeyfenceError, NotFound
from keyfence.store.key_template import KeyPath
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.data.category_tree import AUDIO, TREE, CategoryTree, moves
from tests.failures.stopping_client import StaleIndexClient, Stopped, StoppingClient, with_client
from tests.stack import ServiceStack

SOUND = ("video", "sound")


@pytest.fixture
async def category_tree(stack: ServiceStack, tenant: TenantId) -> CategoryTree:
    return await CategoryTree.create(stack.table(tenant))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_mover, "MOVE_BATCH", 2)
    monkeypatch.setattr(category_products, "MOVE_BATCH", 2)


async def test_a_subtree_is_one_query_without_the_siblings_that_share_its_letters(
    category_tree: CategoryTree, stack: ServiceStack
) -> None:
    stack.take_calls()
    found = await CategoryRepository(category_tree.table).subtree(AUDIO)
    assert [call.operation for call in stack.take_calls()] == ["Query"]
    assert [category.path for category in found] == [path for path in sorted(TREE) if path[0] == "audio"]
    assert [category.path for category in await CategoryRepository(category_tree.table).subtree()] == sorted(TREE)
    assert await CategoryRepository(category_tree.table).subtree(("audi",)) == []


async def test_a_tree_of_more_than_one_page_is_returned_completely(stack: ServiceStack, tenant: TenantId) -> None:
    categories = CategoryRepository(stack.table(tenant))
    await categories.create(["root"])
    await asyncio.gather(*(categories.create(["root", f"n{number:03}"]) for number in range(120)))
    assert len(await categories.subtree(["root"])) == 121


async def test_a_category_needs_its_parent_and_cannot_be_created_twice(category_tree: CategoryTree) -> None:
    categories = CategoryRepository(category_tree.table)
    with pytest.raises(BadInput) as raised:
        await categories.create(["nowhere", "a"])
    assert raised.value.extensions == {"field": "path"}
    outcomes = await asyncio.gather(*(categories.create(["once"]) for _ in range(5)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Category", *["Conflict"] * 4]


async def test_moving_a_category_moves_its_subcategories_and_products(category_tree: CategoryTree) -> None:
    assert await moves(category_tree.table).move(AUDIO, SOUND) == 4
    assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, SOUND)
    await category_tree.check()
    with pytest.raises(NotFound):
        await moves(category_tree.table).move(AUDIO, SOUND)
    assert await moves(category_tree.table).move(SOUND, AUDIO) == 4
    assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, AUDIO)


async def test_a_move_makes_no_product_revision(category_tree: CategoryTree) -> None:
    await moves(category_tree.table).move(("audiobooks",), ("books",))
    (id,) = (id for id, path in category_tree.products.items() if path == ("audiobooks",))
    products = ProductRepository(category_tree.table, "visitor")
    (product,) = (await products.in_category(("books",), first=1, after=None)).items
    assert (product.id, product.revision, product.version) == (id, 1, 2)
    assert len((await products.revisions(product.id, first=10, after=None)).items) == 1


@pytest.mark.parametrize(
    ("path", "to", "error", "field"),
    [
        (AUDIO, AUDIO, BadInput, "to"),
        (AUDIO, ("audio", "books", "x"), BadInput, "to"),
        (AUDIO, ("video",), Conflict, None),
        (("audio", "books"), AUDIO, Conflict, None),
        (AUDIO, ("nowhere", "x"), BadInput, "to"),
        (("nowhere",), ("x",), NotFound, None),
        ((), ("x",), BadInput, "path"),
        (AUDIO, (), BadInput, "to"),
    ],
)
async def test_an_impossible_move_is_refused_and_changes_nothing(
    category_tree: CategoryTree, path: KeyPath, to: KeyPath, error: type[KeyfenceError], field: str | None
) -> None:
    with pytest.raises(error) as raised:
        await moves(category_tree.table).move(path, to)
    assert raised.value.extensions.get("field") == field
    assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, AUDIO)
    await category_tree.check()


async def test_a_move_to_a_path_that_is_too_long_changes_nothing(category_tree: CategoryTree) -> None:
    long_path = ("audio", *("y" * 195 for _ in range(5)))
    for depth in range(2, len(long_path) + 1):
        await CategoryRepository(category_tree.table).create(long_path[:depth])
    before = await category_tree.listed_products()
    with pytest.raises(BadInput) as raised:
        await moves(category_tree.table).move(AUDIO, ("x" * 200,))
    assert raised.value.extensions == {"field": "to"}
    assert await category_tree.listed_products() == before
    await category_tree.check()
    assert await moves(category_tree.table).move(AUDIO, SOUND) == 9


@pytest.mark.one_engine
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("after", tier.cases([False, True], default=[True], reason="a crash at every write"))
async def test_a_move_that_stopped_at_any_write_is_finished_by_the_same_call(stack: ServiceStack, after: bool) -> None:
    for writes in range(100):
        category_tree = await CategoryTree.create(stack.table(await stack.new_tenant()))
        stopping = StoppingClient(category_tree.table.caller.client, writes, after)
        try:
            await moves(with_client(category_tree.table, stopping)).move(AUDIO, SOUND)
        except Stopped:
            with suppress(NotFound):
                assert await moves(category_tree.table).move(AUDIO, SOUND) == 4
        assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, SOUND)
        await category_tree.check()
        if stopping.remaining_writes >= 0:
            break
    assert writes > 8


@pytest.mark.one_engine
@pytest.mark.usefixtures("small_batches")
async def test_during_a_move_everything_is_listed_once_and_another_move_finishes_it(
    stack: ServiceStack,
) -> None:
    for writes in (1, 4, 7, 10):
        category_tree = await CategoryTree.create(stack.table(await stack.new_tenant()))
        with pytest.raises(Stopped):
            await moves(
                with_client(category_tree.table, StoppingClient(category_tree.table.caller.client, writes, False))
            ).move(AUDIO, SOUND)
        seen = await category_tree.listed_products()
        assert len(seen) == len(TREE)
        assert {_original_path(path) for path in seen} == set(TREE)
        assert await moves(category_tree.table).move(("audiobooks",), ("books",)) == 1
        expected = category_tree.products_after_move(AUDIO, SOUND)
        expected["books",] = expected.pop(("audiobooks",))
        assert await category_tree.listed_products() == expected
        await category_tree.check()


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("writes", [1, 6, 9])
async def test_during_a_move_nothing_can_be_created_under_the_old_or_new_path(
    category_tree: CategoryTree, writes: int
) -> None:
    stopping = StoppingClient(category_tree.table.caller.client, writes, False)
    with pytest.raises(Stopped):
        await moves(with_client(category_tree.table, stopping)).move(AUDIO, SOUND)
    for category_path in (AUDIO, SOUND):
        with pytest.raises(Conflict, match="being moved"):
            await category_tree.add_product(category_path, f"new-{category_path}")
        with pytest.raises(Conflict, match="being moved"):
            await CategoryRepository(category_tree.table).create((*category_path, "new"))
        with pytest.raises(Conflict):
            await CategoryRepository(category_tree.table).create(category_path)
    await category_tree.add_product(("video",), "beside it")
    assert await moves(category_tree.table).move(AUDIO, SOUND) == 4
    await category_tree.add_product(SOUND, "afterwards")
    await category_tree.check()


def _original_path(path: KeyPath) -> KeyPath:
    return AUDIO + path[2:] if path[:2] == SOUND else path


@pytest.mark.usefixtures("small_batches")
async def test_concurrent_equal_moves_move_everything_once(category_tree: CategoryTree) -> None:
    outcomes = await asyncio.gather(
        *(moves(category_tree.table).move(AUDIO, SOUND) for _ in range(5)), return_exceptions=True
    )
    assert 4 in outcomes
    assert {outcome for outcome in outcomes if not isinstance(outcome, NotFound)} == {4}
    assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, SOUND)
    await category_tree.check()


@pytest.mark.usefixtures("small_batches")
async def test_a_helper_that_continues_after_a_finished_move_deletes_nothing(category_tree: CategoryTree) -> None:
    """The helper stopped before its last steps. It continues after the move is finished and the old path is reused."""
    stopping_client = StoppingClient(category_tree.table.caller.client, 9, False)
    with pytest.raises(Stopped):
        await moves(with_client(category_tree.table, stopping_client)).move(AUDIO, SOUND)
    move = await category_tree.table.find(last_move)
    assert move is not None
    assert await moves(category_tree.table).move(AUDIO, SOUND) == 4
    await CategoryRepository(category_tree.table).create(AUDIO)
    late_run = category_mover.MoveRun(
        category_tree.table,
        move,
        category_products.CategoryProducts(category_tree.table).move_products,
        CategoryRepository(category_tree.table).now,
    )
    with pytest.raises((category_mover.MoveEnded, Conflict)):
        await late_run.run()
    assert AUDIO in await category_tree.listed_products()
    await category_tree.check()


@pytest.mark.usefixtures("small_batches")
async def test_what_is_created_during_a_move_is_refused_or_moved_too(category_tree: CategoryTree) -> None:
    categories = CategoryRepository(category_tree.table)

    async def after_pause(wait: float, awaitable: Awaitable[object]) -> object:
        await asyncio.sleep(wait)
        return await awaitable

    places: list[KeyPath] = [AUDIO, ("audio", "books"), SOUND, (*SOUND, "books"), ("video",), ("audiobooks",)]
    added_products = [
        category_tree.add_product(category_path, f"new-{number}-{category_path}")
        for number in range(4)
        for category_path in places
    ]
    created_categories = [
        categories.create((*category_path, f"new-{number}")) for number in range(4) for category_path in places
    ]
    running_move = moves(category_tree.table).move(AUDIO, SOUND)
    outcomes = await asyncio.gather(
        running_move,
        *(
            after_pause(0.01 * number, awaitable)
            for number, awaitable in enumerate([*added_products, *created_categories])
        ),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], int)
    unexpected = [
        one for one in outcomes[1:] if isinstance(one, Exception) and not isinstance(one, Conflict | BadInput)
    ]
    assert unexpected == []
    await category_tree.check()
    listed = {category.path for category in await categories.subtree()}
    created_paths = [one.path for one in outcomes if isinstance(one, Category)]
    assert all(path in listed or (SOUND + path[1:]) in listed for path in created_paths)
    assert outcomes[0] == 4 + sum(path[0] == "audio" for path in created_paths)


async def test_a_move_waits_for_a_product_that_the_index_does_not_show_yet(category_tree: CategoryTree) -> None:
    stale_client = StaleIndexClient(category_tree.table.caller.client, "GSI3", 5)
    assert await moves(with_client(category_tree.table, stale_client)).move(AUDIO, SOUND) == 4
    assert stale_client.queries == 0
    assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, SOUND)
    await category_tree.check()


@pytest.mark.usefixtures("small_batches")
async def test_products_that_are_revised_during_a_move_keep_their_revision_and_are_moved(
    category_tree: CategoryTree,
) -> None:
    products = ProductRepository(category_tree.table, "clerk")
    ids = list(category_tree.products)
    revised = (products.revise(id, name=f"N{number}") for number in range(3) for id in ids)
    await asyncio.gather(moves(category_tree.table).move(AUDIO, SOUND), *revised)
    assert await category_tree.listed_products() == category_tree.products_after_move(AUDIO, SOUND)
    await category_tree.check()
    assert {product.revision for product in await products.find_many(ids) if product} == {4}


async def test_categories_of_another_tenant_are_not_listed(stack: ServiceStack, category_tree: CategoryTree) -> None:
    other = stack.table(await stack.new_tenant())
    assert await CategoryRepository(other).subtree() == []
    with pytest.raises(NotFound):
        await moves(other).move(AUDIO, SOUND)
