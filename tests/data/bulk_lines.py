"""Valid lines of a bulk file, from which tests make invalid ones."""

from io import BytesIO
from typing import Any

import orjson

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import ParsedLine, parse_lines

KINDS = load_domains().record_kinds
CUS, PRD, ORD = (
    f"{prefix}_01K9Z5Q3V8H6W2M4N7P1R5T9X{end}" for prefix, end in (("cus", "A"), ("prd", "B"), ("ord", "C"))
)
AT = "2026-11-02T09:30:00Z"


def event(number: int, **values: Any) -> dict[str, Any]:
    return {"id": f"evt_01K9Z5Q3V8H6W2M4N7P1R5T9X{number}", "kind": "transitioned", "by": "clerk", "at": AT, **values}


HISTORY = [
    event(1, kind="placed", to="PENDING"),
    event(2, **{"from": "PENDING", "to": "CONFIRMED"}),
    event(3, kind="flagged", note="odd"),
    event(4, **{"from": "CONFIRMED", "to": "CANCELLED"}),
]
LINES: dict[str, dict[str, Any]] = {
    "customer": {"type": "customer", "id": CUS, "name": "Ann", "createdAt": AT},
    "category": {"type": "category", "path": ["audio", "50% # off"], "createdAt": AT},
    "product": {
        "type": "product", "id": PRD, "sku": "PEN", "name": "Pen", "price": "1.10", "currency": "EUR",
        "category": ["office"], "createdAt": AT,
    },
    "order": {
        "type": "order", "id": ORD, "customerId": CUS, "status": "CANCELLED", "region": "north", "currency": "EUR",
        "total": "3.30", "createdAt": AT, "version": 4, "events": HISTORY,
        "items": [{"productId": PRD, "sku": "PEN", "quantity": 3, "unitPrice": "1.10"}],
    },
}  # fmt: skip


def bulk_file(*given: object) -> BytesIO:
    return BytesIO(b"".join(orjson.dumps(one) + b"\n" for one in given))


def record(given: object) -> Any:
    (line,) = parse_lines(bulk_file(given), KINDS)
    assert isinstance(line, ParsedLine), line
    return line.record


def changed(kind: str, **values: Any) -> dict[str, Any]:
    """Returns the valid line with these fields. A field that is None is left out."""
    return {name: value for name, value in {**LINES[kind], **values}.items() if value is not None}
