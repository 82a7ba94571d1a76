"""A shop in memory, with the responses that the service must give."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.system.model.shop_objects import SOLD, STEPS, Order, Path, Product

NAMES = ("a", "b", "c")
DEPTH = 3

Wanted = tuple[str, str, tuple[tuple[str, int], ...]]
"""A customer, a region, and the quantity of each product."""


@dataclass(slots=True)
class Shop:
    """All objects in the order of their creation. `journal` has the kind and the target of each change."""

    customers: list[str] = field(default_factory=list)
    categories: set[Path] = field(default_factory=set)
    products: dict[str, Product] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    keys: dict[str, tuple[Wanted, str]] = field(default_factory=dict)
    journal: list[dict[str, str | None]] = field(default_factory=list)

    def noted(self, kind: str, target: str | None = None) -> int:
        self.journal.append({"kind": kind, "target": target})
        return len(self.journal)

    def by_sku(self, sku: str) -> Product | None:
        return next((product for product in self.products.values() if product.sku == sku), None)

    def in_category(self, path: Path) -> list[Product]:
        found = (product for product in self.products.values() if product.category == path)
        return sorted(found, key=lambda product: (product.cents, product.id))

    def below(self, path: Path) -> set[Path]:
        return {one for one in self.categories if one[: len(path)] == path}

    def queue(self) -> list[Order]:
        return sorted(self._where(lambda order: order.alive and order.flagged), key=lambda order: order.flagged or 0)

    def bin(self) -> list[Order]:
        return sorted(self._where(lambda order: order.deleted), key=lambda order: order.deleted or 0, reverse=True)

    def sales(self, month: str) -> list[dict[str, Any]]:
        """The best-selling products first. Deleted orders count too."""
        sold: Counter[str] = Counter()
        for order in self._where(lambda order: order.status in SOLD and order.month == month):
            sold.update({line.product.id: 0 for line in order.lines})
            for line in order.lines:
                sold[line.product.id] += line.quantity
        ranked = sorted(((count, id) for id, count in sold.items()), reverse=True)
        return [{"quantity": count, "product": {"id": id}} for count, id in ranked]

    def lists(self, month: str) -> dict[str, Any]:
        return {
            "customers": [{"id": id, **self._orders_of(id)} for id in self.customers[::-1]],
            "north": self._shown(self._where(lambda order: order.alive and order.region == "north")),
            "south": self._shown(self._where(lambda order: order.alive and order.region == "south")),
            "deletedOrders": self._shown(self.bin()),
            "openOrders": _ids(self._where(lambda order: order.open)),
            "reviewQueue": _ids(self.queue()),
            "topProducts": self.sales(month),
            "categories": [{"path": list(path)} for path in sorted(self.categories)],
            "activity": self.journal[:-101:-1],
        }

    def category_refusal(self, path: Path) -> str | None:
        """Returns why no category can be created at this path."""
        if path in self.categories:
            return "CONFLICT"
        return None if len(path) == 1 or path[:-1] in self.categories else "BAD_USER_INPUT"

    def move_refusal(self, path: Path, to: Path) -> str | None:
        if to[: len(path)] == path:
            return "BAD_USER_INPUT"
        return self.category_refusal(to) if path in self.categories else "NOT_FOUND"

    def moves(self) -> list[tuple[Path, Path]]:
        """Returns the moves of categories that are possible, in a tree that stays small."""
        tops: set[Path] = {(name,) for name in NAMES}
        places = tops | {(*parent, name) for parent in self.categories for name in NAMES if len(parent) < DEPTH}
        found = ((path, to) for path in self.categories for to in places)
        return sorted(move for move in found if self.move_refusal(*move) is None)

    def product_refusal(self, sku: str, path: Path) -> str | None:
        if self.by_sku(sku):
            return "CONFLICT"
        return None if path in self.categories else "BAD_USER_INPUT"

    def order_refusal(self, wanted: Wanted, key: str | None) -> str | None:
        if key in self.keys:
            before, id = self.keys[key]
            return None if before == wanted and self.orders[id].alive else "CONFLICT"
        currencies = {self.products[id].currency for id, _ in wanted[2]}
        return "BAD_USER_INPUT" if len(currencies) > 1 else None

    def moved(self, path: Path, to: Path) -> int:
        leaving = self.below(path)
        self.categories = self.categories - leaving | {to + one[len(path) :] for one in leaving}
        for product in self.products.values():
            if product.category in leaving:
                product.category = to + product.category[len(path) :]
                product.version += 1
        return len(leaving)

    def _orders_of(self, customer: str) -> dict[str, Any]:
        own = self._where(lambda order: order.alive and order.customer == customer)[::-1]
        return {"orders": _ids(own), "pending": _ids(order for order in own if order.status == "PENDING")}

    def _where(self, holds: Callable[[Order], object]) -> list[Order]:
        return [order for order in self.orders.values() if holds(order)]

    @staticmethod
    def _shown(orders: Iterable[Order]) -> list[dict[str, Any]]:
        return [order.shown() for order in orders]


def step_refusal(order: Order, to: str) -> str | None:
    return None if order.alive and to in STEPS[order.status] else "CONFLICT"


def _ids(orders: Iterable[Order]) -> list[dict[str, str]]:
    return [{"id": order.id} for order in orders]
