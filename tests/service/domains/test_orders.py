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
    checked_flag_reason,
    checked_note,
    checked_region,
    has_expired,
    is_open,
    new_order_event,
    order_row,
    with_changes,
    with_status,
)
from keyfence.domains.orders.repository import update_writes
from keyfence.errors import BadInput, Conflict
from keyfence.store.shards import UNSHARDED
from keyfence.store.writes import Write
from tests.data.bookshop import OPENING
from tests.fakes.fences import tenant_fence
from tests.tier import examples

ACME = tenant_fence("acme")
FINAL_STATUSES = {OrderStatus.DELIVERED, OrderStatus.CANCELLED}
MAIN_STATUSES = ["PENDING", "CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"]
statuses = st.sampled_from(OrderStatus)


def new_order(**fields: Any) -> Order:
    defaults: dict[str, Any] = {
        "id": OrderId("ord_1"),
        "customer_id": CustomerId("cus_1"),
        "status": OrderStatus.PENDING,
        "region": "north",
        "totals": OrderTotal(total=Decimal("1.5"), currency="EUR", item_count=1),
        "created_at": OPENING,
        "updated_at": OPENING,
    }
    return Order(**defaults | fields)


def lists_of(order: Order) -> set[str]:
    """Returns the lists that contain an order, each by the tag of its partition key."""
    key_items = [orders.key_attributes(order, ACME, UNSHARDED)]
    key_items += [order_rows.key_attributes(order_row(order), ACME, UNSHARDED)] if order.deleted_at is None else []
    partitions = [
        value["S"].removeprefix(str(ACME.index_prefix)).removeprefix(ACME.prefix).split("#")
        for item in key_items
        for name, value in item.items()
        if name.endswith("PK")
    ]
    return {"STATUS" if len(names) > 2 and names[0] == "CUST" else names[0] for names in partitions}


def test_an_order_has_the_transitions_of_the_contract_and_no_others() -> None:
    assert {(str(status), str(to)) for status, next_statuses in TRANSITIONS.items() for to in next_statuses} == {
        *pairwise(MAIN_STATUSES),
        *((status, "CANCELLED") for status in MAIN_STATUSES[:3]),
    }
    assert set(TRANSITIONS) == set(OrderStatus)


@given(status=statuses, to=statuses)
def test_a_transition_succeeds_or_fails_with_the_list_of_allowed_ones(status: OrderStatus, to: OrderStatus) -> None:
    before, later = new_order(status=status, version=4), OPENING + timedelta(hours=1)
    if to in TRANSITIONS[status]:
        assert with_status(before, to, later) == replace(before, status=to, version=5, updated_at=later)
        return
    with pytest.raises(Conflict) as refusal:
        with_status(before, to, later)
    assert refusal.value.extensions == {"status": status, "allowed": list(TRANSITIONS[status])}
    assert all(allowed in refusal.value.message for allowed in TRANSITIONS[status])


@pytest.mark.parametrize("status", OrderStatus)
def test_an_order_is_open_until_its_last_status(status: OrderStatus) -> None:
    order = new_order(status=status)
    assert is_open(order) == (status not in FINAL_STATUSES)
    assert ("OPEN" in lists_of(order)) == (status not in FINAL_STATUSES)


class OrderMachine(RuleBasedStateMachine):
    """Changes one order in any sequence. The order must be in the right lists, and each version must have one event."""

    def __init__(self) -> None:
        super().__init__()
        self.order, self.now = new_order(), OPENING
        self.revisions = [1]
        self.before_deletion: tuple[Order, set[str]] | None = None

    def apply(self, after: Order) -> None:
        event = new_order_event(self.order, after, "x", actor="me", now=self.now, note=None)
        is_transition = self.order.status != after.status
        assert (event.from_status, event.to_status) == (
            (self.order.status, after.status) if is_transition else (None, None)
        )
        self.revisions.append(event.revision)
        self.order = after

    def next_minute(self) -> Any:
        self.now += timedelta(minutes=1)
        return self.now

    @precondition(lambda self: self.order.deleted_at is None)
    @rule(to=statuses)
    def transition(self, to: OrderStatus) -> None:
        try:
            self.apply(with_status(self.order, to, self.next_minute()))
        except Conflict:
            assert to not in TRANSITIONS[self.order.status]

    @precondition(lambda self: self.order.deleted_at is None and self.order.flagged_at is None)
    @rule()
    def flag(self) -> None:
        self.apply(with_changes(self.order, self.next_minute(), flagged_at=self.now, flag_reason="why"))

    @precondition(lambda self: self.order.deleted_at is None and self.order.flagged_at is not None)
    @rule()
    def claim(self) -> None:
        self.apply(with_changes(self.order, self.next_minute(), flagged_at=None, flag_reason=None, claimed_by="me"))

    @precondition(lambda self: self.order.deleted_at is None)
    @rule()
    def delete(self) -> None:
        self.before_deletion = (self.order, lists_of(self.order))
        self.apply(as_deleted(self.order, self.next_minute()))

    @precondition(lambda self: self.order.deleted_at is not None)
    @rule()
    def restore(self) -> None:
        self.apply(as_restored(self.order))
        assert self.before_deletion
        before, lists_before = self.before_deletion
        assert self.order == replace(before, version=before.version + 2)
        assert lists_of(self.order) == lists_before

    @invariant()
    def order_is_in_the_lists_of_its_state(self) -> None:
        if self.order.deleted_at is not None:
            assert lists_of(self.order) == {"ORDER", "BIN"}
            return
        expected = {"ORDER", "CUST", "STATUS", "REGION"}
        expected |= {"OPEN"} if self.order.status not in FINAL_STATUSES else set()
        expected |= {"REVIEW"} if self.order.flagged_at else set()
        assert lists_of(self.order) == expected

    @invariant()
    def each_version_has_one_event(self) -> None:
        assert self.revisions == list(range(1, self.order.version + 1))


TestOrderMachine = OrderMachine.TestCase
TestOrderMachine.settings = examples(60, stateful_step_count=20)


def writes_of_change(before: Order, after: Order) -> list[Write[Any]]:
    return update_writes(before, after, new_order_event(before, after, "x", actor="me", now=OPENING, note=None))


ROW_CHANGES: dict[str, tuple[Callable[[], tuple[Order, Order]], str]] = {
    "changed": (lambda: (new_order(), with_status(new_order(), OrderStatus.CONFIRMED, OPENING)), "Update"),
    "deleted": (lambda: (new_order(), as_deleted(new_order(), OPENING)), "Delete"),
    "restored": (lambda: (as_deleted(new_order(), OPENING), as_restored(as_deleted(new_order(), OPENING))), "Put"),
}


@pytest.mark.parametrize("name", ROW_CHANGES)
def test_an_order_has_a_row_until_it_is_deleted(name: str) -> None:
    states, verb = ROW_CHANGES[name]
    order_write, row_write, event_write = (write.render("t", ACME, UNSHARDED) for write in writes_of_change(*states()))
    assert (list(order_write), list(row_write), list(event_write)) == (["Update"], [verb], ["Put"])


def test_every_write_of_a_change_requires_the_version_that_was_read() -> None:
    rendered = list(
        _bodies(
            writes_of_change(new_order(version=7), with_status(new_order(version=7), OrderStatus.CONFIRMED, OPENING))
        )
    )
    order_write, row_write, event_write = rendered
    for body in (order_write, row_write):
        assert "version" in body["ExpressionAttributeNames"].values()
        assert {"N": "7"} in body["ExpressionAttributeValues"].values()
    assert {"S": "PENDING"} in order_write["ExpressionAttributeValues"].values()
    assert event_write["ConditionExpression"].startswith("attribute_not_exists")


def _bodies(writes: list[Write[Any]]) -> Iterator[dict[str, Any]]:
    for write in writes:
        ((_, body),) = write.render("t", ACME, UNSHARDED).items()
        yield body


def test_a_deleted_order_can_be_restored_for_thirty_days() -> None:
    deleted = as_deleted(new_order(), OPENING)
    assert deleted.ttl == (OPENING + BIN_RETENTION).timestamp()
    assert not has_expired(deleted, OPENING + BIN_RETENTION - timedelta(microseconds=1))
    assert has_expired(deleted, OPENING + BIN_RETENTION)
    assert not has_expired(new_order(), OPENING + 2 * BIN_RETENTION)


def test_deleting_and_restoring_an_order_keeps_its_update_time() -> None:
    deleted = as_deleted(new_order(), OPENING + timedelta(days=1))
    assert deleted.updated_at == as_restored(deleted).updated_at == OPENING


@pytest.mark.parametrize(("check", "max_length"), [(checked_region, 64), (checked_flag_reason, 500)])
def test_regions_and_reasons_are_printable_lines(check: Callable[[str], str], max_length: int) -> None:
    assert check("x" * max_length) == "x" * max_length
    for text in ("", " ", "a\nb", "x" * (max_length + 1)):
        with pytest.raises(BadInput):
            check(text)


@pytest.mark.parametrize("character", ["a", "é", "🙂", "#", "%"])
def test_every_region_that_is_accepted_fits_its_key(character: str) -> None:
    order = new_order(region=checked_region(character * 64))
    assert order_rows.to_item(order_row(order), ACME, UNSHARDED)["GSI3PK"]["S"].startswith(
        f"{ACME.index_prefix}REGION#"
    )


def test_a_note_may_have_lines_and_may_be_left_out() -> None:
    assert checked_note("a\nb") == "a\nb"
    assert checked_note("") is checked_note(None) is None
    with pytest.raises(BadInput):
        checked_note("x" * 1_001)
