"""The review queue gives each flagged order to one claimant, oldest first."""

import asyncio
import random
from dataclasses import replace

import pytest

from keyfence.domains.orders.model import TRANSITIONS, Order, OrderId, OrderStatus
from keyfence.domains.orders.repository import OrderRepository
from keyfence.domains.orders.review_queue import ReviewQueue
from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store.ids import new_id
from keyfence_iam.tenant import TenantId
from tests.data.orders import Shop
from tests.stack import ServiceStack


@pytest.fixture
async def shop(stack: ServiceStack, tenant: TenantId) -> Shop:
    return await Shop.opened(stack.table(tenant))


async def flag_orders(shop: Shop, count: int) -> list[Order]:
    return [await shop.reviews.flag((await shop.place()).id, f"reason {n}") for n in range(count)]


async def test_flags_are_queued_and_claimed_oldest_first(shop: Shop) -> None:
    older, newer = await flag_orders(shop, 2)
    assert [order.id for order in (await shop.reviews.oldest(first=9, after=None)).items] == [older.id, newer.id]
    first, second, none = [await shop.reviews.claim() for _ in range(3)]
    assert (first and first.id, second and second.id, none) == (older.id, newer.id, None)
    assert first
    assert (first.flagged_at, first.claimed_by, first.version) == (None, "clerk", 3)
    history = await shop.parts.history(older.id)
    assert [(event.kind, event.note) for event in history[1:]] == [("flagged", "reason 0"), ("claimed", None)]


async def test_a_flag_is_shown_in_every_list_until_the_order_is_claimed(shop: Shop) -> None:
    (order,) = await flag_orders(shop, 1)
    for expected in (order.flagged_at, None):
        for page in (
            await shop.orders.of_customer(shop.customer, first=9, after=None),
            await shop.orders.of_customer(shop.customer, status=OrderStatus.PENDING, first=9, after=None),
            await shop.orders.open_orders(first=9, after=None),
            await shop.orders.of_region("north", first=9, after=None),
        ):
            assert [row.flagged_at for row in page.items] == [expected]
        await shop.reviews.claim()


async def test_an_order_cannot_be_flagged_again_until_it_is_claimed(shop: Shop) -> None:
    (order,) = await flag_orders(shop, 1)
    with pytest.raises(Conflict):
        await shop.reviews.flag(order.id, "again")
    await shop.reviews.claim()
    again = await shop.reviews.flag(order.id, "again")
    assert (again.flag_reason, again.claimed_by) == ("again", None)


async def test_a_flag_needs_an_order_and_a_reason(shop: Shop) -> None:
    with pytest.raises(NotFound):
        await shop.reviews.flag(OrderId(new_id("ord")), "why")
    for reason in ("", " ", "x" * 501):
        with pytest.raises(BadInput):
            await shop.reviews.flag((await shop.place()).id, reason)


async def test_a_flagged_order_keeps_its_position_in_the_queue_when_its_status_changes(shop: Shop) -> None:
    older, newer = await flag_orders(shop, 2)
    await shop.orders.transition(older.id, OrderStatus.CONFIRMED)
    queue = (await shop.reviews.oldest(first=9, after=None)).items
    assert [(order.id, order.status) for order in queue] == [(older.id, "CONFIRMED"), (newer.id, "PENDING")]


@pytest.mark.parametrize(("callers", "flags"), [(50, 20)])
async def test_concurrent_claims_get_different_orders_or_none(shop: Shop, callers: int, flags: int) -> None:
    expected = await flag_orders(shop, flags)
    claimed = await asyncio.gather(*(replace(shop, by=f"c{n}").reviews.claim() for n in range(callers)))
    claimed_orders = [order for order in claimed if order]
    assert sorted(order.id for order in claimed_orders) == sorted(order.id for order in expected)
    assert len({order.claimed_by for order in claimed_orders}) == flags
    for order in claimed_orders:
        assert await shop.kinds(order) == ["placed", "flagged", "claimed"]
    assert (await shop.lists())["review"] == []


class OrderChangesOnce(OrderRepository):
    """Another user changes the order once, after a claimant has read it and before the claimant writes."""

    __slots__ = ()

    async def find(self, id: OrderId) -> Order | None:
        found = await super().find(id)
        if found and found.status is OrderStatus.PENDING:
            await OrderRepository(self.table, "meddler").transition(id, OrderStatus.CONFIRMED)
        return found


async def test_an_order_that_changes_while_it_is_claimed_is_not_skipped(shop: Shop) -> None:
    (order,) = await flag_orders(shop, 1)
    claimed = await ReviewQueue(OrderChangesOnce(shop.table, "clerk")).claim()
    assert claimed
    assert (claimed.id, claimed.status) == (order.id, OrderStatus.CONFIRMED)


async def test_the_oldest_order_is_claimed_although_it_changes_meanwhile(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "shuffle", list.reverse)
    older, newer = await flag_orders(shop, 2)
    await shop.orders.transition(newer.id, OrderStatus.CONFIRMED)
    claimed = await ReviewQueue(OrderChangesOnce(shop.table, "clerk")).claim()
    assert claimed
    assert (claimed.id, claimed.status) == (older.id, OrderStatus.CONFIRMED)


class OrderChangesAlways(OrderRepository):
    """Another user changes the order every time that a claimant has read it."""

    __slots__ = ()

    async def find(self, id: OrderId) -> Order | None:
        found = await super().find(id)
        if found and TRANSITIONS[found.status]:
            await OrderRepository(self.table, "meddler").transition(id, TRANSITIONS[found.status][0])
        return found


async def test_an_order_that_changes_all_the_time_does_not_block_the_queue(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "shuffle", list.reverse)
    older, newer = await flag_orders(shop, 2)
    await shop.orders.transition(newer.id, OrderStatus.CANCELLED)
    claimed = await ReviewQueue(OrderChangesAlways(shop.table, "clerk")).claim()
    assert claimed
    assert claimed.id == newer.id
    assert [order.id for order in (await shop.reviews.oldest(first=9, after=None)).items] == [older.id]


async def test_concurrent_claims_flags_and_status_changes_lose_no_order(shop: Shop) -> None:
    orders = [await shop.place() for _ in range(8)]
    changes = [shop.reviews.flag(order.id, "why") for order in orders]
    changes += [shop.orders.transition(order.id, OrderStatus.CONFIRMED) for order in orders]
    done, claims = await asyncio.gather(
        asyncio.gather(*changes), asyncio.gather(*(shop.reviews.claim() for _ in range(12)))
    )
    assert len(done) == 16
    rest = []
    while order := await shop.reviews.claim():
        rest.append(order)
    assert sorted(order.id for order in [*claims, *rest] if order) == sorted(order.id for order in orders)
    for order in orders:
        assert sorted(await shop.kinds(order)) == ["claimed", "flagged", "placed", "transitioned"]
