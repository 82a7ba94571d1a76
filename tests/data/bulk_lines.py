"""Valid lines of a bulk file. Tests change them to make invalid ones."""

from io import BytesIO
from typing import Any

import orjson

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import ParsedLine, parse_lines

KINDS = load_domains().record_kinds
CUSTOMER_ID, PRODUCT_ID, ORDER_ID = (
    f"{prefix}_01K9Z5Q3V8H6W2M4N7P1R5T9X{end}" for prefix, end in (("cus", "A"), ("prd", "B"), ("ord", "C"))
)
CREATED_AT = "2026-11-02T09:30:00Z"


def event(number: int, **values: Any) -> dict[str, Any]:
    return {
        "id": f"evt_01K9Z5Q3V8H6W2M4N7P1R5T9X{number}",
        "kind": "transitioned",
        "by": "clerk",
        "at": CREATED_AT,
        **values,
    }


HISTORY = [
    event(1, kind="placed", to="PENDING"),
    event(2, **{"from": "PENDING", "to": "CONFIRMED"}),
    event(3, kind="flagged", note="odd"),
    event(4, **{"from": "CONFIRMED", "to": "CANCELLED"}),
]
LINES: dict[str, dict[str, Any]] = {
    "customer": {"type": "customer", "id": CUSTOMER_ID, "name": "Ann", "createdAt": CREATED_AT},
    "category": {"type": "category", "path": ["audio", "50% # off"], "createdAt": CREATED_AT},
    "product": {
        "type": "product", "id": PRODUCT_ID, "sku": "PEN", "name": "Pen", "price": "1.10", "currency": "EUR",
        "category": ["office"], "createdAt": CREATED_AT,
    },
    "order": {
        "type": "order", "id": ORDER_ID, "customerId": CUSTOMER_ID, "status": "CANCELLED", "region": "north",
        "currency": "EUR", "total": "3.30", "createdAt": CREATED_AT, "version": 4, "events": HISTORY,
        "items": [{"productId": PRODUCT_ID, "sku": "PEN", "quantity": 3, "unitPrice": "1.10"}],
    },
}  # fmt: skip


def bulk_file(*lines: object) -> BytesIO:
    return BytesIO(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def parsed_record(line: object) -> Any:
    (parsed,) = parse_lines(bulk_file(line), KINDS)
    assert isinstance(parsed, ParsedLine), parsed
    return parsed.record


def line_with(kind: str, **values: Any) -> dict[str, Any]:
    """Returns the valid line of a kind, with other values in some fields. A field that is None is left out."""
    return {name: value for name, value in {**LINES[kind], **values}.items() if value is not None}
