"""A deleted order is gone from every list at once, waits in the bin, and comes back exactly as it was."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from keyfence.domains.orders.access_patterns import events_of_order, item_by_position, items_of_order
from keyfence.domains.orders.line_items import MAX_LINES, RequestedLine
from keyfence.domains.orders.model import BIN_RETENTION, Order, OrderStatus, order_row
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.errors import Conflict, KeyfenceError, NotFound
from keyfence.store.expressions import Condition, UpdateExpression
from keyfence_iam.tenant import TenantId
from tests.data.orders import PEN, Shop
from tests.stack import ServiceStack

A_DAY = 24 * 60 * 60


@pytest.fixture
async def shop(stack: ServiceStack, tenant: TenantId) -> Shop:
    return await Shop.opened(stack.table(tenant))


async def marks(shop: Shop, order: Order) -> set[int | None]:
    """When the parts of an order may go."""
    found = [item.ttl async for item in shop.table.iterate_shards(items_of_order, order_id=order.id)]
    return {*found, *[event.ttl async for event in shop.table.iterate_shards(events_of_order, order_id=order.id)]}


async def test_a_deleted_order_is_in_the_bin_and_nowhere_else(shop: Shop) -> None:
    order = await shop.reviews.flag((await shop.place(RequestedLine(PEN, 1), RequestedLine(PEN, 2))).id, "why")
    gone = await shop.bin.delete(order.id)
    assert await shop.lists() == {"customer": [], "open": [], "region": [], "review": [], "bin": [order.id]}
    assert await shop.orders.find(order.id) is None
    assert await shop.orders.find_many([order.id]) == [None]
    assert await shop.orders.find_with_items(order.id) is None
    assert gone.deleted_at is not None
    assert gone.ttl == int((gone.deleted_at + timedelta(days=30)).timestamp())
    assert await marks(shop, order) == {gone.ttl + A_DAY}
    for refused in (
        shop.orders.transition(order.id, OrderStatus.CONFIRMED),
        shop.reviews.flag(order.id, "again"),
    ):
        with pytest.raises(Conflict, match="recycle bin"):
            await refused
    assert await shop.reviews.claim() is None


async def test_a_restored_order_is_exactly_as_it_was_and_where_it_was(shop: Shop) -> None:
    first = await shop.place(RequestedLine(PEN, 2))
    second = await shop.orders.transition((await shop.place()).id, OrderStatus.CONFIRMED)
    order = await shop.reviews.flag(first.id, "why")
    await shop.reviews.flag(second.id, "why")
    before, items = await shop.lists(), await shop.parts.items_of([order])
    await shop.bin.delete(order.id)
    back = await shop.bin.restore(order.id)
    assert back == replace(order, version=order.version + 2)
    assert await shop.orders.get(order.id) == back
    assert await shop.lists() == before
    assert order_row(back) in (await shop.orders.of_customer(shop.customer, first=9, after=None)).items
    assert await shop.parts.items_of([back]) == items
    assert await marks(shop, order) == {None}
    assert await shop.kinds(order) == ["placed", "flagged", "deleted", "restored"]
    assert (await shop.orders.transition(order.id, OrderStatus.CONFIRMED)).status is OrderStatus.CONFIRMED


async def test_a_closed_order_is_still_closed_after_it_is_restored(shop: Shop) -> None:
    order = await shop.orders.transition((await shop.place()).id, OrderStatus.CANCELLED)
    await shop.bin.delete(order.id)
    await shop.bin.restore(order.id)
    lists = await shop.lists()
    assert (lists["open"], lists["customer"], lists["region"]) == ([], [order.id], [order.id])


async def test_only_an_order_in_the_bin_can_be_restored(shop: Shop) -> None:
    order = await shop.place()
    with pytest.raises(Conflict, match="not in the recycle bin"):
        await shop.bin.restore(order.id)


async def test_after_thirty_days_a_deleted_order_is_not_found_even_if_its_items_still_exist(shop: Shop) -> None:
    order = await shop.place()
    await shop.bin.delete((await shop.place()).id)
    gone = await shop.bin.delete(order.id)
    newer = await shop.bin.delete((await shop.place()).id)
    assert gone.deleted_at is not None
    over = gone.deleted_at + BIN_RETENTION
    late = replace(shop, now=lambda: over)
    for refused in (late.bin.restore(order.id), late.bin.delete(order.id), late.reviews.flag(order.id, "why")):
        with pytest.raises(NotFound):
            await refused
    assert (await late.lists())["bin"] == [newer.id]
    page = await late.bin.newest(first=1, after=None)
    assert [one.id for one in page.items] == [newer.id]
    both = await late.bin.newest(first=2, after=None)
    assert (both.items, both.has_next) == (page.items, False)
    assert (await late.bin.newest(first=1, after=page.edges[-1].cursor())).items == ()
    just = replace(shop, now=lambda: over - timedelta(seconds=1))
    assert (await just.bin.restore(order.id)).deleted_at is None


async def test_the_largest_order_is_deleted_and_restored_with_all_its_parts(shop: Shop) -> None:
    order = await shop.place(*[RequestedLine(PEN, 1)] * MAX_LINES)
    for _ in range(6):
        await shop.reviews.flag(order.id, "why")
        await shop.reviews.claim()
    gone = await shop.bin.delete(order.id)
    assert gone.ttl
    assert await marks(shop, order) == {gone.ttl + A_DAY}
    back = await shop.bin.restore(order.id)
    assert await marks(shop, order) == {None}
    assert len((await shop.parts.items_of([back]))[0]) == MAX_LINES


async def test_the_bin_shows_the_newest_first_and_pages_to_the_end(shop: Shop) -> None:
    made = [(await shop.bin.delete((await shop.place()).id)).id for _ in range(5)]
    found: list[str] = []
    after: str | None = None
    while True:
        page = await shop.bin.newest(first=2, after=after)
        found += [order.id for order in page.items]
        if not page.has_next:
            break
        after = page.edges[-1].cursor()
    assert found == made[::-1]


class Interrupted(RecycleBin):
    """The server stops before the parts of an order are written."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        raise ConnectionError("gone")


async def test_a_deletion_that_was_interrupted_is_finished_by_deleting_again(shop: Shop) -> None:
    order = await shop.place()
    with pytest.raises(ConnectionError):
        await Interrupted(shop.orders).delete(order.id)
    assert await marks(shop, order) == {None}
    assert (await shop.lists())["bin"] == [order.id]
    gone = await shop.bin.delete(order.id)
    assert await shop.bin.delete(order.id) == gone
    assert None not in await marks(shop, order)
    assert await shop.kinds(order) == ["placed", "deleted"]


class Halfway(RecycleBin):
    """The server stops after the parts of an order are written."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        await super()._update_details(order, written, when)
        raise ConnectionError("gone")


@pytest.mark.parametrize("stops", [Interrupted, Halfway])
async def test_an_interrupted_restoration_can_be_repeated_or_undone(
    shop: Shop, stops: type[RecycleBin]
) -> None:
    order = await shop.place()
    await shop.bin.delete(order.id)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await stops(shop.orders).restore(order.id)
        assert (await shop.lists())["bin"] == [order.id]
    await shop.bin.delete(order.id)
    assert None not in await marks(shop, order)
    back = await shop.bin.restore(order.id)
    assert (back.deleted_at, back.restore_lock) == (None, None)
    assert await marks(shop, order) == {None}


class Slow(RecycleBin):
    """Between the deletion of an order and the marks on its parts, somebody restores it."""

    __slots__ = ()

    async def _expire_details(self, order: Order) -> None:
        await RecycleBin(self.orders).restore(order.id)
        await super()._expire_details(order)


async def test_a_deletion_does_not_mark_the_parts_of_an_order_that_was_restored_meanwhile(shop: Shop) -> None:
    order = await shop.place()
    await Slow(shop.orders).delete(order.id)
    assert (await shop.orders.get(order.id)).deleted_at is None
    assert await marks(shop, order) == {None}


class Overlapping(RecycleBin):
    """Somebody deletes again after the parts were freed and before the order is back, once."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        await super()._update_details(order, written, when)
        if order.version == 2 and self.orders.actor == "clerk":
            other = RecycleBin(replace(self.orders, actor="other"))
            await other.delete(order.id)
            object.__setattr__(self, "orders", replace(self.orders, actor="other"))


async def test_a_restoration_also_restores_parts_that_are_marked_while_it_runs(shop: Shop) -> None:
    order = await shop.place()
    await shop.bin.delete(order.id)
    await Overlapping(shop.orders).restore(order.id)
    assert (await shop.orders.get(order.id)).deleted_at is None
    assert await marks(shop, order) == {None}


class Hurried(RecycleBin):
    """A deletion that is still marking parts meets the restoration that has just freed them."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        await super()._update_details(order, written, when)
        await RecycleBin(self.orders)._expire_details(order)


async def test_parts_of_an_order_that_is_being_restored_are_not_marked(shop: Shop) -> None:
    order = await shop.place()
    await shop.bin.delete(order.id)
    await Hurried(shop.orders).restore(order.id)
    assert (await shop.orders.get(order.id)).deleted_at is None
    assert await marks(shop, order) == {None}


async def test_an_old_deletion_does_not_mark_parts_for_a_newer_deletion(shop: Shop) -> None:
    order = await shop.place()
    first = await shop.bin.delete(order.id)
    await shop.bin.restore(order.id)
    later = replace(shop, now=lambda: order.created_at + timedelta(days=9))
    second = await later.bin.delete(order.id)
    await shop.bin._expire_details(first)
    assert second.ttl
    assert await marks(shop, order) == {second.ttl + A_DAY}


async def test_concurrent_deletions_and_restorations_leave_one_complete_order(shop: Shop) -> None:
    order = await shop.place(*[RequestedLine(PEN, 1)] * 5)
    acts: list[Any] = [act for _ in range(12) for act in (shop.bin.delete(order.id), shop.bin.restore(order.id))]
    outcomes = await asyncio.gather(*acts, return_exceptions=True)
    assert all(isinstance(outcome, Order | KeyfenceError) for outcome in outcomes), outcomes
    head = await shop.orders.get_including_deleted(order.id)
    kinds = await shop.kinds(order)
    assert kinds == ["placed", *(["deleted", "restored"] * len(kinds))[: len(kinds) - 1]]
    assert head.version == len(kinds)
    lists = await shop.lists()
    if head.deleted_at is None:
        assert lists == {"customer": [order.id], "open": [order.id], "region": [order.id], "review": [], "bin": []}
        assert await marks(shop, order) == {None}
    else:
        assert lists == {"customer": [], "open": [], "region": [], "review": [], "bin": [order.id]}
    assert await shop.table.find(item_by_position, order_id=order.id, position=5) is not None
