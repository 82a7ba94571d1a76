"""A deleted order is only in the recycle bin, and is exactly as before when it is restored."""

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


async def part_ttls(shop: Shop, order: Order) -> set[int | None]:
    """Returns the times to live of all items and events of an order."""
    found = [item.ttl async for item in shop.table.iterate_shards(items_of_order, order_id=order.id)]
    return {*found, *[event.ttl async for event in shop.table.iterate_shards(events_of_order, order_id=order.id)]}


async def test_a_deleted_order_is_in_the_bin_and_nowhere_else(shop: Shop) -> None:
    order = await shop.reviews.flag((await shop.place(RequestedLine(PEN, 1), RequestedLine(PEN, 2))).id, "why")
    deleted = await shop.bin.delete(order.id)
    assert await shop.lists() == {"customer": [], "open": [], "region": [], "review": [], "bin": [order.id]}
    assert await shop.orders.find(order.id) is None
    assert await shop.orders.find_many([order.id]) == [None]
    assert await shop.orders.find_with_items(order.id) is None
    assert deleted.deleted_at is not None
    assert deleted.ttl == int((deleted.deleted_at + timedelta(days=30)).timestamp())
    assert await part_ttls(shop, order) == {deleted.ttl + A_DAY}
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
    restored = await shop.bin.restore(order.id)
    assert restored == replace(order, version=order.version + 2)
    assert await shop.orders.get(order.id) == restored
    assert await shop.lists() == before
    assert order_row(restored) in (await shop.orders.of_customer(shop.customer, first=9, after=None)).items
    assert await shop.parts.items_of([restored]) == items
    assert await part_ttls(shop, order) == {None}
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
    deleted = await shop.bin.delete(order.id)
    newer = await shop.bin.delete((await shop.place()).id)
    assert deleted.deleted_at is not None
    expires_at = deleted.deleted_at + BIN_RETENTION
    later_shop = replace(shop, now=lambda: expires_at)
    for refused in (
        later_shop.bin.restore(order.id),
        later_shop.bin.delete(order.id),
        later_shop.reviews.flag(order.id, "why"),
    ):
        with pytest.raises(NotFound):
            await refused
    assert (await later_shop.lists())["bin"] == [newer.id]
    page = await later_shop.bin.newest(first=1, after=None)
    assert [one.id for one in page.items] == [newer.id]
    both = await later_shop.bin.newest(first=2, after=None)
    assert (both.items, both.has_next) == (page.items, False)
    assert (await later_shop.bin.newest(first=1, after=page.edges[-1].cursor())).items == ()
    shop_before_expiry = replace(shop, now=lambda: expires_at - timedelta(seconds=1))
    assert (await shop_before_expiry.bin.restore(order.id)).deleted_at is None


async def test_the_largest_order_is_deleted_and_restored_with_all_its_parts(shop: Shop) -> None:
    order = await shop.place(*[RequestedLine(PEN, 1)] * MAX_LINES)
    for _ in range(6):
        await shop.reviews.flag(order.id, "why")
        await shop.reviews.claim()
    deleted = await shop.bin.delete(order.id)
    assert deleted.ttl
    assert await part_ttls(shop, order) == {deleted.ttl + A_DAY}
    restored = await shop.bin.restore(order.id)
    assert await part_ttls(shop, order) == {None}
    assert len((await shop.parts.items_of([restored]))[0]) == MAX_LINES


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


class StopsBeforeParts(RecycleBin):
    """The server stops before the parts of an order are written."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        raise ConnectionError("gone")


async def test_a_deletion_that_was_interrupted_is_finished_by_deleting_again(shop: Shop) -> None:
    order = await shop.place()
    with pytest.raises(ConnectionError):
        await StopsBeforeParts(shop.orders).delete(order.id)
    assert await part_ttls(shop, order) == {None}
    assert (await shop.lists())["bin"] == [order.id]
    deleted = await shop.bin.delete(order.id)
    assert await shop.bin.delete(order.id) == deleted
    assert None not in await part_ttls(shop, order)
    assert await shop.kinds(order) == ["placed", "deleted"]


class StopsAfterParts(RecycleBin):
    """The server stops after the parts of an order are written."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        await super()._update_details(order, written, when)
        raise ConnectionError("gone")


@pytest.mark.parametrize("stopping_bin", [StopsBeforeParts, StopsAfterParts])
async def test_an_interrupted_restoration_can_be_repeated_or_undone(shop: Shop, stopping_bin: type[RecycleBin]) -> None:
    order = await shop.place()
    await shop.bin.delete(order.id)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await stopping_bin(shop.orders).restore(order.id)
        assert (await shop.lists())["bin"] == [order.id]
    await shop.bin.delete(order.id)
    assert None not in await part_ttls(shop, order)
    restored = await shop.bin.restore(order.id)
    assert (restored.deleted_at, restored.restore_lock) == (None, None)
    assert await part_ttls(shop, order) == {None}


class RestoredBeforeParts(RecycleBin):
    """Another user restores the order after it is deleted and before its parts get a time to live."""

    __slots__ = ()

    async def _expire_details(self, order: Order) -> None:
        await RecycleBin(self.orders).restore(order.id)
        await super()._expire_details(order)


async def test_a_deletion_does_not_mark_the_parts_of_an_order_that_was_restored_meanwhile(shop: Shop) -> None:
    order = await shop.place()
    await RestoredBeforeParts(shop.orders).delete(order.id)
    assert (await shop.orders.get(order.id)).deleted_at is None
    assert await part_ttls(shop, order) == {None}


class DeletedDuringRestore(RecycleBin):
    """Another user deletes the order once, after its parts lose their time to live and before it is restored."""

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
    await DeletedDuringRestore(shop.orders).restore(order.id)
    assert (await shop.orders.get(order.id)).deleted_at is None
    assert await part_ttls(shop, order) == {None}


class ExpiresDuringRestore(RecycleBin):
    """A late deletion sets the time to live of parts that the restoration has just cleared."""

    __slots__ = ()

    async def _update_details(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        await super()._update_details(order, written, when)
        await RecycleBin(self.orders)._expire_details(order)


async def test_parts_of_an_order_that_is_being_restored_are_not_marked(shop: Shop) -> None:
    order = await shop.place()
    await shop.bin.delete(order.id)
    await ExpiresDuringRestore(shop.orders).restore(order.id)
    assert (await shop.orders.get(order.id)).deleted_at is None
    assert await part_ttls(shop, order) == {None}


async def test_an_old_deletion_does_not_mark_parts_for_a_newer_deletion(shop: Shop) -> None:
    order = await shop.place()
    first = await shop.bin.delete(order.id)
    await shop.bin.restore(order.id)
    later = replace(shop, now=lambda: order.created_at + timedelta(days=9))
    second = await later.bin.delete(order.id)
    await shop.bin._expire_details(first)
    assert second.ttl
    assert await part_ttls(shop, order) == {second.ttl + A_DAY}


async def test_concurrent_deletions_and_restorations_leave_one_complete_order(shop: Shop) -> None:
    order = await shop.place(*[RequestedLine(PEN, 1)] * 5)
    changes: list[Any] = [
        change for _ in range(12) for change in (shop.bin.delete(order.id), shop.bin.restore(order.id))
    ]
    outcomes = await asyncio.gather(*changes, return_exceptions=True)
    assert all(isinstance(outcome, Order | KeyfenceError) for outcome in outcomes), outcomes
    stored = await shop.orders.get_including_deleted(order.id)
    kinds = await shop.kinds(order)
    assert kinds == ["placed", *(["deleted", "restored"] * len(kinds))[: len(kinds) - 1]]
    assert stored.version == len(kinds)
    lists = await shop.lists()
    if stored.deleted_at is None:
        assert lists == {"customer": [order.id], "open": [order.id], "region": [order.id], "review": [], "bin": []}
        assert await part_ttls(shop, order) == {None}
    else:
        assert lists == {"customer": [], "open": [], "region": [], "review": [], "bin": [order.id]}
    assert await shop.table.find(item_by_position, order_id=order.id, position=5) is not None
