"""A line is parsed, or the error names its number and the bad field."""

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.bulk.importer import MAX_ERRORS, ParsedLine, check_lines, parse_lines
from keyfence.bulk.json_lines import MAX_LINE_BYTES, BadLines, LineError
from keyfence.domains.orders.model import BIN_RETENTION
from keyfence.domains.orders.recycle_bin import DETAIL_TTL_MARGIN
from tests.data.bulk_lines import AT, CUS, HISTORY, KINDS, LINES, ORD, PRD, bulk_file, changed, event, record

FULL = "2026-11-02T09:30:00.000000Z"
ITEM = {"productId": PRD, "sku": "PEN", "quantity": 3, "unitPrice": "1.10"}
LEAP = event(2, **{"from": "PENDING", "to": "SHIPPED"})
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("kind", LINES)
def test_missing_fields_get_the_same_defaults_every_time(kind: str) -> None:
    (line,) = parse_lines(bulk_file(LINES[kind]), KINDS)
    assert isinstance(line, ParsedLine)
    full = line.kind.to_line(line.record)
    assert {name: full[name] for name in LINES[kind] if name not in {"createdAt", "events"}} == {
        name: value for name, value in LINES[kind].items() if name not in {"createdAt", "events"}
    }
    assert (full["createdAt"], full["updatedAt"]) == (FULL, FULL)
    assert record(full) == line.record


def test_a_product_without_revisions_has_one() -> None:
    whole = record(LINES["product"])
    assert [(one.revision, one.name, one.price, one.actor) for one in whole.revisions] == [
        (1, "Pen", whole.product.price, "import")
    ]
    assert (whole.product.revision, whole.product.version) == (1, 1)


def test_an_order_without_events_gets_an_import_event() -> None:
    whole = record(changed("order", events=None, version=None, status="SHIPPED"))
    (arrival,) = whole.events
    assert (arrival.id, arrival.kind, arrival.from_status, arrival.to_status) == (
        ORD.replace("ord", "evt"), "imported", None, "SHIPPED",
    )  # fmt: skip
    assert whole.order.version == 1


def test_items_and_events_of_a_deleted_order_expire_a_day_after_it() -> None:
    whole = record(changed("order", deletedAt=AT))
    assert whole.order.ttl == (whole.order.deleted_at + BIN_RETENTION).timestamp()
    assert {part.ttl - whole.order.ttl for part in (*whole.items, *whole.events)} == {DETAIL_TTL_MARGIN.total_seconds()}


BAD: dict[str, tuple[Any, str | None]] = {
    "a list": ([], None),
    "no type": ({"id": CUS}, "type"),
    "another type": ({"type": "user"}, "type"),
    "an id of another thing": (changed("customer", id=ORD), "id"),
    "no id": (changed("customer", id=None), "id"),
    "an unknown field": (changed("customer", nmae="Ann"), "nmae"),
    "a name that is a number": (changed("customer", name=7), "name"),
    "a blank name": (changed("customer", name=" "), "name"),
    "a bad email": (changed("customer", email="ann"), "email"),
    "a time without a zone": (changed("customer", createdAt="2026-11-02T09:30:00"), "createdAt"),
    "a time that is none": (changed("customer", createdAt="soon"), "createdAt"),
    "version 0": (changed("customer", version=0), "version"),
    "version true": (changed("customer", version=True), "version"),
    "a path that is a text": (changed("category", path="audio"), "path"),
    "an empty path": (changed("category", path=[]), "path"),
    "a path with a number": (changed("category", path=["a", 1]), "path"),
    "a price that is a fraction": (changed("product", price=1.1), "price"),
    "a price that is too fine": (changed("product", price="1.101"), "price"),
    "a price below nothing": (changed("product", price="-1"), "price"),
    "a price that is no number": (changed("product", price="sNaN"), "price"),
    "a currency in small letters": (changed("product", currency="eur"), "currency"),
    "revisions of another price": (
        changed("product", revisions=[{"name": "Pen", "price": "1.00", "by": "clerk", "at": AT}]),
        "revisions",
    ),
    "a revision without a name": (
        changed("product", revisions=[{"price": "1.10", "by": "clerk", "at": AT}]),
        "revisions[0].name",
    ),
    "more revisions than versions": (
        changed("product", version=1, revisions=[{"name": "Pen", "price": "1.10", "by": "clerk", "at": AT}] * 2),
        "revisions",
    ),
    "an unknown status": (changed("order", status="LOST"), "status"),
    "no items": (changed("order", items=[]), "items"),
    "91 items": (changed("order", items=[ITEM] * 91, total=None), "items"),
    "an item that is a text": (changed("order", items=["pen"]), "items[0]"),
    "none of an item": (changed("order", items=[ITEM, {**ITEM, "quantity": 0}]), "items[1].quantity"),
    "too many of an item": (changed("order", items=[{**ITEM, "quantity": 10_001}]), "items[0].quantity"),
    "a negative unit price": (changed("order", items=[{**ITEM, "unitPrice": "-1"}]), "items[0].unitPrice"),
    "another total": (changed("order", total="3.31"), "total"),
    "another version than events": (changed("order", version=3), "version"),
    "a flag without a reason": (changed("order", flaggedAt=AT), "flaggedAt"),
    "a claim without a time": (changed("order", claimedBy="clerk"), "claimedAt"),
    "an event without a time": (changed("order", events=[{**HISTORY[0], "at": None}]), "events[0].at"),
    "events that end elsewhere": (changed("order", events=HISTORY[:3], version=3), "events"),
    "events that begin in the middle": (changed("order", events=HISTORY[1:], version=3), "events"),
    "events without a beginning": (changed("order", events=[HISTORY[2]], version=1), "events"),
    "events with a gap": (changed("order", events=[HISTORY[0], HISTORY[3]], version=2), "events"),
    "a step that no order takes": (
        changed("order", events=[HISTORY[0], LEAP], status="SHIPPED", version=2),
        "events",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_by_number_and_field(name: str) -> None:
    bad, field = BAD[name]
    good, problem = parse_lines(bulk_file(LINES["customer"], bad), KINDS)
    assert isinstance(good, ParsedLine)
    assert isinstance(problem, LineError)
    assert (problem.line, problem.field) == (2, field)
    assert str(problem).startswith(f"line 2, {field}: " if field else "line 2: ")


@pytest.mark.parametrize("raw", [b"{", b"\xff\n", b'{"type": "customer"', b'{"type": NaN}', b"null\n", b"[" * 5000])
def test_a_line_that_is_not_a_json_object_is_an_error(raw: bytes) -> None:
    _, problem = parse_lines(BytesIO(bulk_file(LINES["customer"]).getvalue() + raw), KINDS)
    assert isinstance(problem, LineError)
    assert (problem.line, problem.field) == (2, None)


def test_blank_lines_are_skipped_and_counted() -> None:
    content = b"\n  \n" + bulk_file(LINES["customer"]).getvalue() + b"\n"
    (line,) = parse_lines(BytesIO(content), KINDS)
    assert isinstance(line, ParsedLine)
    assert line.number == 3


def test_a_line_that_is_too_long_is_not_read_to_its_end() -> None:
    (problem,) = parse_lines(BytesIO(b"x" * (MAX_LINE_BYTES + 1)), KINDS)
    assert isinstance(problem, LineError)
    assert "longer" in problem.message


def test_a_check_counts_the_lines_or_names_the_first_problems() -> None:
    assert check_lines(bulk_file(*LINES.values()), KINDS) == len(LINES)
    with pytest.raises(BadLines) as refusal:
        check_lines(bulk_file(*LINES.values(), *[{}] * 50), KINDS)
    assert [problem.line for problem in refusal.value.errors] == list(range(5, 5 + MAX_ERRORS))


@given(kind=st.sampled_from(list(LINES)), data=st.data(), value=anything)
def test_a_line_with_any_value_is_parsed_or_an_error(kind: str, data: st.DataObject, value: object) -> None:
    field = data.draw(st.sampled_from(list(LINES[kind])))
    (line,) = parse_lines(bulk_file({**LINES[kind], field: value}), KINDS)
    if isinstance(line, ParsedLine):
        full = line.kind.to_line(line.record)
        assert record(full) == line.record


@given(value=anything, at=st.sampled_from([0, 1, 2, 3]), data=st.data())
def test_a_line_with_any_event_is_parsed_or_an_error(value: object, at: int, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(["id", "kind", "by", "at", "from", "to", "note"]))
    events = [*HISTORY[:at], {**HISTORY[at], field: value}, *HISTORY[at + 1 :]]
    (line,) = parse_lines(bulk_file(changed("order", events=events)), KINDS)
    assert isinstance(line, (ParsedLine, LineError))
