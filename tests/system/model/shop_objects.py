"""Products and orders of the shop in memory, and the responses of the service for them."""

from dataclasses import dataclass, field
from typing import Any

TRANSITIONS = {
    "PENDING": {"CONFIRMED", "CANCELLED"},
    "CONFIRMED": {"PROCESSING", "CANCELLED"},
    "PROCESSING": {"SHIPPED", "CANCELLED"},
    "SHIPPED": {"DELIVERED"},
    "DELIVERED": set[str](),
    "CANCELLED": set[str](),
}
SOLD_STATUSES = {"CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"}

Path = tuple[str, ...]


def price_text(cents: int) -> str:
    euros, cents_left = divmod(cents, 100)
    return f"{euros}.{cents_left:02d}"


@dataclass(slots=True, kw_only=True)
class Product:
    """A product. `revisions` has each name and price in cents, the current one last."""

    id: str
    sku: str
    currency: str
    category: Path
    revisions: list[tuple[str, int]]
    version: int = 1
    views: int = 0

    @property
    def cents(self) -> int:
        return self.revisions[-1][1]

    def to_response(self) -> dict[str, Any]:
        name, cents = self.revisions[-1]
        numbered = list(enumerate(self.revisions, start=1))
        return {
            "id": self.id,
            "sku": self.sku,
            "name": name,
            "price": price_text(cents),
            "currency": self.currency,
            "category": list(self.category),
            "revision": len(numbered),
            "version": self.version,
            "views": self.views,
            "revisions": [
                {"revision": number, "name": name, "price": price_text(cents)}
                for number, (name, cents) in numbered[::-1]
            ],
        }


@dataclass(slots=True, kw_only=True)
class Line:
    """A quantity of a product. `cents` is the unit price when the order was placed."""

    product: Product
    quantity: int
    cents: int

    def to_response(self) -> dict[str, Any]:
        return {"sku": self.product.sku, "quantity": self.quantity, "unitPrice": price_text(self.cents)}


@dataclass(slots=True, kw_only=True)
class Order:
    """An order with its history. `flagged_at` and `deleted_at` are numbers of activities, or None."""

    id: str
    customer: str
    region: str
    month: str
    lines: list[Line]
    status: str = "PENDING"
    flagged_at: int | None = None
    deleted_at: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_alive(self) -> bool:
        return self.deleted_at is None

    @property
    def is_open(self) -> bool:
        return self.is_alive and bool(TRANSITIONS[self.status])

    def add_event(
        self, kind: str, from_status: str | None = None, to_status: str | None = None, note: str | None = None
    ) -> None:
        self.history.append({"kind": kind, "from": from_status, "to": to_status, "note": note})

    def to_response(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "status": self.status,
            "currency": self.lines[0].product.currency,
            "total": price_text(sum(line.cents * line.quantity for line in self.lines)),
            "flagged": self.flagged_at is not None,
            "version": len(self.history),
            "customer": {"id": self.customer},
            "items": [line.to_response() for line in self.lines],
            "history": self.history,
        }
