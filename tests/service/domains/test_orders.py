"""Transitions, keys and checks of orders, without a table."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from keyfence.domains.orders.access_patterns import order_rows, orders
from keyfence.domains.orders.model import (
    BIN_RETENTION,
    TRANSITIONS,
    CustomerId,
    Order,
    OrderId,
    OrderStatus,
    OrderTotal,
    as_deleted,
    as_restored,
    checked_note,
    checked_reason,
    checked_region,
    is_open,
    is_purged,
    new_order_event,
    order_row,
    with_changes,
    with_status,
)
from keyfence.domains.orders.repository import update_writes
from keyfence.errors import BadInput, Conflict
from keyfence.store.keys import Fence
from keyfence.store.shards import UNSHARDED
from keyfence.store.writes import Write
from keyfence_iam.tenant import TenantId
from tests.data.bookshop import OPENING
from tests.tier import examples

ACME = Fence.for_tenant(TenantId("acme"))
END = {OrderStatus.DELIVERED, OrderStatus.CANCELLED}
WAY = ["PENDING", "CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"]
statuses = st.sampled_from(OrderStatus)


def order(**given: Any) -> Order:
    made: dict[str, Any] = {
        "id": OrderId("ord_1"),
        "customer_id": CustomerId("cus_1"),
        "status": OrderStatus.PENDING,
        "region": "north",
        "totals": OrderTotal(total=Decimal("1.5"), currency="EUR", item_count=1),
        "created_at": OPENING,
        "updated_at": OPENING,
    }
    return Order(**made | given)


def places(one: Order) -> set[str]:
    """Returns the lists that contain an order, by the first part of their partition keys."""
    key_items = [orders.key_attributes(one, ACME, UNSHARDED)]
    key_items += [order_rows.key_attributes(order_row(one), ACME, UNSHARDED)] if one.deleted_at is None else []
    partitions = [
        value["S"].split("#")[2:] for item in key_items for name, value in item.items() if name.endswith("PK")
    ]
    return {"STATUS" if len(names) > 2 and names[0] == "CUST" else names[0] for names in partitions}


def test_an_order_has_the_transitions_of_the_contract_and_no_others() -> None:
    assert {(str(one), str(to)) for one, steps in TRANSITIONS.items() for to in steps} == {
        *pairwise(WAY),
        *((one, "CANCELLED") for one in WAY[:3]),
    }
    assert set(TRANSITIONS) == set(OrderStatus)


@given(one=statuses, to=statuses)
def test_a_transition_succeeds_or_fails_with_the_list_of_allowed_ones(one: OrderStatus, to: OrderStatus) -> None:
    before, later = order(status=one, version=4), OPENING + timedelta(hours=1)
    if to in TRANSITIONS[one]:
        assert with_status(before, to, later) == replace(before, status=to, version=5, updated_at=later)
        return
    with pytest.raises(Conflict) as refusal:
        with_status(before, to, later)
    assert refusal.value.extensions == {"status": one, "allowed": list(TRANSITIONS[one])}
    assert all(allowed in refusal.value.message for allowed in TRANSITIONS[one])


@pytest.mark.parametrize("status", OrderStatus)
def test_an_order_is_open_until_its_last_status(status: OrderStatus) -> None:
    one = order(status=status)
    assert is_open(one) == (status not in END)
    assert ("OPEN" in places(one)) == (status not in END)


class Life(RuleBasedStateMachine):
    """After any changes an order is in the lists of its status, and each version has one event."""

    def __init__(self) -> None:
        super().__init__()
        self.order, self.now = order(), OPENING
        self.revisions = [1]
        self.saved: tuple[Order, set[str]] | None = None

    def became(self, after: Order) -> None:
        happened = new_order_event(self.order, after, "x", actor="me", now=self.now, note=None)
        moved = self.order.status != after.status
        assert (happened.from_status, happened.to_status) == (
            (self.order.status, after.status) if moved else (None, None)
        )
        self.revisions.append(happened.revision)
        self.order = after

    def soon(self) -> Any:
        self.now += timedelta(minutes=1)
        return self.now

    @precondition(lambda self: self.order.deleted_at is None)
    @rule(to=statuses)
    def step(self, to: OrderStatus) -> None:
        try:
            self.became(with_status(self.order, to, self.soon()))
        except Conflict:
            assert to not in TRANSITIONS[self.order.status]

    @precondition(lambda self: self.order.deleted_at is None and self.order.flagged_at is None)
    @rule()
    def flag(self) -> None:
        self.became(with_changes(self.order, self.soon(), flagged_at=self.now, flag_reason="why"))

    @precondition(lambda self: self.order.deleted_at is None and self.order.flagged_at is not None)
    @rule()
    def claim(self) -> None:
        self.became(with_changes(self.order, self.soon(), flagged_at=None, flag_reason=None, claimed_by="me"))

    @precondition(lambda self: self.order.deleted_at is None)
    @rule()
    def delete(self) -> None:
        self.saved = (self.order, places(self.order))
        self.became(as_deleted(self.order, self.soon()))

    @precondition(lambda self: self.order.deleted_at is not None)
    @rule()
    def restore(self) -> None:
        self.became(as_restored(self.order))
        assert self.saved
        before, stood = self.saved
        assert self.order == replace(before, version=before.version + 2)
        assert places(self.order) == stood

    @invariant()
    def it_stands_where_its_state_says(self) -> None:
        if self.order.deleted_at is not None:
            assert places(self.order) == {"ORDER", "BIN"}
            return
        expected = {"ORDER", "CUST", "STATUS", "REGION"}
        expected |= {"OPEN"} if self.order.status not in END else set()
        expected |= {"REVIEW"} if self.order.flagged_at else set()
        assert places(self.order) == expected

    @invariant()
    def each_version_has_one_event(self) -> None:
        assert self.revisions == list(range(1, self.order.version + 1))


TestLife = Life.TestCase
TestLife.settings = examples(60, stateful_step_count=20)


def happened(before: Order, after: Order) -> list[Write[Any]]:
    return update_writes(before, after, new_order_event(before, after, "x", actor="me", now=OPENING, note=None))


STEPS_OF_A_ROW: dict[str, tuple[Callable[[], tuple[Order, Order]], str]] = {
    "living": (lambda: (order(), with_status(order(), OrderStatus.CONFIRMED, OPENING)), "Update"),
    "deleted": (lambda: (order(), as_deleted(order(), OPENING)), "Delete"),
    "restored": (lambda: (as_deleted(order(), OPENING), as_restored(as_deleted(order(), OPENING))), "Put"),
}


@pytest.mark.parametrize("name", STEPS_OF_A_ROW)
def test_an_order_has_a_row_until_it_is_deleted(name: str) -> None:
    states, verb = STEPS_OF_A_ROW[name]
    order_update, row, event_write = (write.render("t", ACME, UNSHARDED) for write in happened(*states()))
    assert (list(order_update), list(row), list(event_write)) == (["Update"], [verb], ["Put"])


def test_every_write_of_a_change_requires_the_version_that_was_read() -> None:
    rendered = list(_bodies(happened(order(version=7), with_status(order(version=7), OrderStatus.CONFIRMED, OPENING))))
    order_update, row, event_write = rendered
    for body in (order_update, row):
        assert "version" in body["ExpressionAttributeNames"].values()
        assert {"N": "7"} in body["ExpressionAttributeValues"].values()
    assert {"S": "PENDING"} in order_update["ExpressionAttributeValues"].values()
    assert event_write["ConditionExpression"].startswith("attribute_not_exists")


def _bodies(made: list[Write[Any]]) -> Iterator[dict[str, Any]]:
    for write in made:
        ((_, body),) = write.render("t", ACME, UNSHARDED).items()
        yield body


def test_a_deleted_order_can_be_restored_for_thirty_days() -> None:
    gone = as_deleted(order(), OPENING)
    assert gone.ttl == (OPENING + BIN_RETENTION).timestamp()
    assert not is_purged(gone, OPENING + BIN_RETENTION - timedelta(microseconds=1))
    assert is_purged(gone, OPENING + BIN_RETENTION)
    assert not is_purged(order(), OPENING + 2 * BIN_RETENTION)


def test_deleting_and_restoring_an_order_keeps_its_update_time() -> None:
    gone = as_deleted(order(), OPENING + timedelta(days=1))
    assert gone.updated_at == as_restored(gone).updated_at == OPENING


@pytest.mark.parametrize(("check", "longest"), [(checked_region, 64), (checked_reason, 500)])
def test_regions_and_reasons_are_printable_lines(check: Callable[[str], str], longest: int) -> None:
    assert check("x" * longest) == "x" * longest
    for text in ("", " ", "a\nb", "x" * (longest + 1)):
        with pytest.raises(BadInput):
            check(text)


@pytest.mark.parametrize("character", ["a", "é", "🙂", "#", "%"])
def test_every_region_that_is_accepted_fits_its_key(character: str) -> None:
    one = order(region=checked_region(character * 64))
    assert order_rows.to_item(order_row(one), ACME, UNSHARDED)["GSI3PK"]["S"].startswith("TENANT#acme#REGION#")


def test_a_note_may_have_lines_and_may_be_left_out() -> None:
    assert checked_note("a\nb") == "a\nb"
    assert checked_note("") is checked_note(None) is None
    with pytest.raises(BadInput):
        checked_note("x" * 1_001)
