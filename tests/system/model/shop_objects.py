"""Products and orders of the shop in memory, and how lists show them."""

from dataclasses import dataclass, field
from typing import Any

STEPS = {
    "PENDING": {"CONFIRMED", "CANCELLED"},
    "CONFIRMED": {"PROCESSING", "CANCELLED"},
    "PROCESSING": {"SHIPPED", "CANCELLED"},
    "SHIPPED": {"DELIVERED"},
    "DELIVERED": set[str](),
    "CANCELLED": set[str](),
}
SOLD = {"CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"}

Path = tuple[str, ...]


def money(cents: int) -> str:
    whole, rest = divmod(cents, 100)
    return f"{whole}.{rest:02d}"


@dataclass(slots=True, kw_only=True)
class Product:
    """A product with its former names and prices. `cents` is its current price."""

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

    def shown(self) -> dict[str, Any]:
        name, cents = self.revisions[-1]
        numbered = list(enumerate(self.revisions, start=1))
        return {
            "id": self.id,
            "sku": self.sku,
            "name": name,
            "price": money(cents),
            "currency": self.currency,
            "category": list(self.category),
            "revision": len(numbered),
            "version": self.version,
            "views": self.views,
            "revisions": [{"revision": n, "name": was, "price": money(cost)} for n, (was, cost) in numbered[::-1]],
        }


@dataclass(slots=True, kw_only=True)
class Line:
    """A quantity of a product, at its price when the order was placed."""

    product: Product
    quantity: int
    cents: int

    def shown(self) -> dict[str, Any]:
        return {"sku": self.product.sku, "quantity": self.quantity, "unitPrice": money(self.cents)}


@dataclass(slots=True, kw_only=True)
class Order:
    """An order with its history. `deleted` and `flagged` are times, or None if it is not deleted or flagged."""

    id: str
    customer: str
    region: str
    month: str
    lines: list[Line]
    status: str = "PENDING"
    flagged: int | None = None
    deleted: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return self.deleted is None

    @property
    def open(self) -> bool:
        return self.alive and bool(STEPS[self.status])

    def happened(self, kind: str, old: str | None = None, new: str | None = None, note: str | None = None) -> None:
        self.history.append({"kind": kind, "from": old, "to": new, "note": note})

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "status": self.status,
            "currency": self.lines[0].product.currency,
            "total": money(sum(line.cents * line.quantity for line in self.lines)),
            "flagged": self.flagged is not None,
            "version": len(self.history),
            "customer": {"id": self.customer},
            "items": [line.shown() for line in self.lines],
            "history": self.history,
        }
