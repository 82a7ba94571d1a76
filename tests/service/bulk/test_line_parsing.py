"""A valid line becomes a record. The error of a bad line names the number of the line and the field."""

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.bulk.importer import MAX_ERRORS, ParsedLine, check_lines, parse_lines
from keyfence.bulk.json_lines import MAX_LINE_BYTES, BadLines, LineError
from keyfence.domains.orders.model import BIN_RETENTION
from keyfence.domains.orders.recycle_bin import DETAIL_TTL_MARGIN
from tests.data.bulk_lines import (
    CREATED_AT,
    CUSTOMER_ID,
    HISTORY,
    KINDS,
    LINES,
    ORDER_ID,
    PRODUCT_ID,
    bulk_file,
    event,
    line_with,
    parsed_record,
)

CREATED_AT_IN_EXPORT = "2026-11-02T09:30:00.000000Z"
REVISION = {"name": "Pen", "price": "1.10", "by": "clerk", "at": CREATED_AT}
ITEM = {"productId": PRODUCT_ID, "sku": "PEN", "quantity": 3, "unitPrice": "1.10"}
SKIPPING_EVENT = event(2, **{"from": "PENDING", "to": "SHIPPED"})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("kind", LINES)
def test_missing_fields_get_the_same_defaults_every_time(kind: str) -> None:
    (line,) = parse_lines(bulk_file(LINES[kind]), KINDS)
    assert isinstance(line, ParsedLine)
    complete_line = line.kind.to_line(line.record)
    unformatted = {name: value for name, value in LINES[kind].items() if name not in {"createdAt", "events"}}
    assert {name: complete_line[name] for name in unformatted} == unformatted
    assert (complete_line["createdAt"], complete_line["updatedAt"]) == (CREATED_AT_IN_EXPORT, CREATED_AT_IN_EXPORT)
    assert parsed_record(complete_line) == line.record


def test_a_product_without_revisions_gets_one_made_by_the_import() -> None:
    record = parsed_record(LINES["product"])
    (revision,) = record.revisions
    assert (revision.revision, revision.name, revision.price) == (1, "Pen", record.product.price)
    assert revision.actor == "import"
    assert (record.product.revision, record.product.version) == (1, 1)


def test_an_order_without_events_gets_an_import_event() -> None:
    record = parsed_record(line_with("order", events=None, version=None, status="SHIPPED"))
    (event,) = record.events
    assert (event.id, event.kind, event.from_status, event.to_status) == (
        ORDER_ID.replace("ord", "evt"), "imported", None, "SHIPPED",
    )  # fmt: skip
    assert record.order.version == 1


def test_items_and_events_of_a_deleted_order_expire_a_day_after_it() -> None:
    record = parsed_record(line_with("order", deletedAt=CREATED_AT))
    assert record.order.ttl == (record.order.deleted_at + BIN_RETENTION).timestamp()
    assert {part.ttl - record.order.ttl for part in (*record.items, *record.events)} == {
        DETAIL_TTL_MARGIN.total_seconds()
    }


BAD_LINES: dict[str, tuple[Any, str | None]] = {
    "a list": ([], None),
    "no type": ({"id": CUSTOMER_ID}, "type"),
    "another type": ({"type": "user"}, "type"),
    "an id of another kind": (line_with("customer", id=ORDER_ID), "id"),
    "no id": (line_with("customer", id=None), "id"),
    "an unknown field": (line_with("customer", nmae="Ann"), "nmae"),
    "a name that is a number": (line_with("customer", name=7), "name"),
    "a blank name": (line_with("customer", name=" "), "name"),
    "a bad email": (line_with("customer", email="ann"), "email"),
    "a time without a zone": (line_with("customer", createdAt="2026-11-02T09:30:00"), "createdAt"),
    "a time that is a word": (line_with("customer", createdAt="soon"), "createdAt"),
    "version 0": (line_with("customer", version=0), "version"),
    "version true": (line_with("customer", version=True), "version"),
    "a path that is a text": (line_with("category", path="audio"), "path"),
    "an empty path": (line_with("category", path=[]), "path"),
    "a path with a number": (line_with("category", path=["a", 1]), "path"),
    "a price that is a fraction": (line_with("product", price=1.1), "price"),
    "a price with three decimals": (line_with("product", price="1.101"), "price"),
    "a negative price": (line_with("product", price="-1"), "price"),
    "a price that is no number": (line_with("product", price="sNaN"), "price"),
    "a currency in small letters": (line_with("product", currency="eur"), "currency"),
    "revisions of another price": (
        line_with("product", revisions=[{**REVISION, "price": "1.00"}]),
        "revisions",
    ),
    "a revision without a name": (
        line_with("product", revisions=[{"price": "1.10", "by": "clerk", "at": CREATED_AT}]),
        "revisions[0].name",
    ),
    "more revisions than versions": (
        line_with("product", version=1, revisions=[REVISION] * 2),
        "revisions",
    ),
    "an unknown status": (line_with("order", status="LOST"), "status"),
    "no items": (line_with("order", items=[]), "items"),
    "91 items": (line_with("order", items=[ITEM] * 91, total=None), "items"),
    "an item that is a text": (line_with("order", items=["pen"]), "items[0]"),
    "quantity 0": (line_with("order", items=[ITEM, {**ITEM, "quantity": 0}]), "items[1].quantity"),
    "a quantity that is too large": (line_with("order", items=[{**ITEM, "quantity": 10_001}]), "items[0].quantity"),
    "a negative unit price": (line_with("order", items=[{**ITEM, "unitPrice": "-1"}]), "items[0].unitPrice"),
    "another total": (line_with("order", total="3.31"), "total"),
    "another version than events": (line_with("order", version=3), "version"),
    "a flag without a reason": (line_with("order", flaggedAt=CREATED_AT), "flaggedAt"),
    "a claim without a time": (line_with("order", claimedBy="clerk"), "claimedAt"),
    "an event without a time": (line_with("order", events=[{**HISTORY[0], "at": None}]), "events[0].at"),
    "events that end with another status": (line_with("order", events=HISTORY[:3], version=3), "events"),
    "events that begin in the middle": (line_with("order", events=HISTORY[1:], version=3), "events"),
    "events without a beginning": (line_with("order", events=[HISTORY[2]], version=1), "events"),
    "events with a gap": (line_with("order", events=[HISTORY[0], HISTORY[3]], version=2), "events"),
    "a transition that is not allowed": (
        line_with("order", events=[HISTORY[0], SKIPPING_EVENT], status="SHIPPED", version=2),
        "events",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LINES)
def test_the_error_of_a_bad_line_names_its_number_and_field(name: str) -> None:
    bad_line, field = BAD_LINES[name]
    parsed, error = parse_lines(bulk_file(LINES["customer"], bad_line), KINDS)
    assert isinstance(parsed, ParsedLine)
    assert isinstance(error, LineError)
    assert (error.line, error.field) == (2, field)
    assert str(error).startswith(f"line 2, {field}: " if field else "line 2: ")


@pytest.mark.parametrize("content", [b"{", b"\xff\n", b'{"type": "customer"', b'{"type": NaN}', b"null\n", b"[" * 5000])
def test_a_line_that_is_not_a_json_object_is_an_error(content: bytes) -> None:
    _, error = parse_lines(BytesIO(bulk_file(LINES["customer"]).getvalue() + content), KINDS)
    assert isinstance(error, LineError)
    assert (error.line, error.field) == (2, None)


def test_blank_lines_are_skipped_and_counted() -> None:
    content = b"\n  \n" + bulk_file(LINES["customer"]).getvalue() + b"\n"
    (line,) = parse_lines(BytesIO(content), KINDS)
    assert isinstance(line, ParsedLine)
    assert line.number == 3


def test_a_line_that_is_too_long_is_an_error() -> None:
    (error,) = parse_lines(BytesIO(b"x" * (MAX_LINE_BYTES + 1)), KINDS)
    assert isinstance(error, LineError)
    assert "longer" in error.message


def test_a_check_counts_the_lines_or_raises_the_first_errors() -> None:
    assert check_lines(bulk_file(*LINES.values()), KINDS) == len(LINES)
    with pytest.raises(BadLines) as refusal:
        check_lines(bulk_file(*LINES.values(), *[{}] * 50), KINDS)
    assert [error.line for error in refusal.value.errors] == list(range(5, 5 + MAX_ERRORS))


@given(kind=st.sampled_from(list(LINES)), data=st.data(), value=json_values)
def test_a_line_with_any_value_is_parsed_or_an_error(kind: str, data: st.DataObject, value: object) -> None:
    field = data.draw(st.sampled_from(list(LINES[kind])))
    (line,) = parse_lines(bulk_file({**LINES[kind], field: value}), KINDS)
    if isinstance(line, ParsedLine):
        assert parsed_record(line.kind.to_line(line.record)) == line.record


@given(value=json_values, index=st.sampled_from([0, 1, 2, 3]), data=st.data())
def test_a_line_with_any_event_is_parsed_or_an_error(value: object, index: int, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(["id", "kind", "by", "at", "from", "to", "note"]))
    events = [*HISTORY[:index], {**HISTORY[index], field: value}, *HISTORY[index + 1 :]]
    (line,) = parse_lines(bulk_file(line_with("order", events=events)), KINDS)
    assert isinstance(line, (ParsedLine, LineError))
