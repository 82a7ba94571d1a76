"""`Shop`: a shop in memory that returns the responses that the service must give."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.system.model.shop_objects import SOLD_STATUSES, TRANSITIONS, Order, Path, Product

CATEGORY_NAMES = ("a", "b", "c")
MAX_DEPTH = 3

OrderRequest = tuple[str, str, tuple[tuple[str, int], ...]]
"""A customer, a region, and the quantity of each product."""


@dataclass(slots=True)
class Shop:
    """All objects, in the order of their creation. `activity` has the kind and the target of each change.

    A method that ends with `refusal` returns the error code with which the service must refuse a change, or None."""

    customers: list[str] = field(default_factory=list)
    categories: set[Path] = field(default_factory=set)
    products: dict[str, Product] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    orders_by_key: dict[str, tuple[OrderRequest, str]] = field(default_factory=dict)
    """The request and the id of the order that was placed with each idempotency key."""
    activity: list[dict[str, str | None]] = field(default_factory=list)

    def record_activity(self, kind: str, target: str | None = None) -> int:
        """Returns the number of the entry, which serves as the time of the change."""
        self.activity.append({"kind": kind, "target": target})
        return len(self.activity)

    def find_by_sku(self, sku: str) -> Product | None:
        return next((product for product in self.products.values() if product.sku == sku), None)

    def products_in(self, path: Path) -> list[Product]:
        found = (product for product in self.products.values() if product.category == path)
        return sorted(found, key=lambda product: (product.cents, product.id))

    def subtree(self, path: Path) -> set[Path]:
        return {category for category in self.categories if category[: len(path)] == path}

    def review_queue(self) -> list[Order]:
        return sorted(
            self._select(lambda order: order.is_alive and order.flagged_at), key=lambda order: order.flagged_at or 0
        )

    def recycle_bin(self) -> list[Order]:
        return sorted(
            self._select(lambda order: order.deleted_at), key=lambda order: order.deleted_at or 0, reverse=True
        )

    def sales(self, month: str) -> list[dict[str, Any]]:
        """Returns the products that sold most, best first. Deleted orders count too."""
        sold: Counter[str] = Counter()
        for order in self._select(lambda order: order.status in SOLD_STATUSES and order.month == month):
            sold.update({line.product.id: 0 for line in order.lines})
            for line in order.lines:
                sold[line.product.id] += line.quantity
        ranked = sorted(((count, id) for id, count in sold.items()), reverse=True)
        return [{"quantity": count, "product": {"id": id}} for count, id in ranked]

    def lists(self, month: str) -> dict[str, Any]:
        return {
            "customers": [{"id": id, **self._orders_of(id)} for id in self.customers[::-1]],
            "north": self._responses(self._select(lambda order: order.is_alive and order.region == "north")),
            "south": self._responses(self._select(lambda order: order.is_alive and order.region == "south")),
            "deletedOrders": self._responses(self.recycle_bin()),
            "openOrders": _ids(self._select(lambda order: order.is_open)),
            "reviewQueue": _ids(self.review_queue()),
            "topProducts": self.sales(month),
            "categories": [{"path": list(path)} for path in sorted(self.categories)],
            "activity": self.activity[:-101:-1],
        }

    def category_refusal(self, path: Path) -> str | None:
        if path in self.categories:
            return "CONFLICT"
        return None if len(path) == 1 or path[:-1] in self.categories else "BAD_USER_INPUT"

    def move_refusal(self, path: Path, to: Path) -> str | None:
        if to[: len(path)] == path:
            return "BAD_USER_INPUT"
        return self.category_refusal(to) if path in self.categories else "NOT_FOUND"

    def possible_moves(self) -> list[tuple[Path, Path]]:
        """Returns moves of categories that succeed and keep the tree small."""
        top_paths: set[Path] = {(name,) for name in CATEGORY_NAMES}
        parents = [path for path in self.categories if len(path) < MAX_DEPTH]
        targets = top_paths | {(*parent, name) for parent in parents for name in CATEGORY_NAMES}
        moves = ((path, target) for path in self.categories for target in targets)
        return sorted(move for move in moves if self.move_refusal(*move) is None)

    def product_refusal(self, sku: str, path: Path) -> str | None:
        if self.find_by_sku(sku):
            return "CONFLICT"
        return None if path in self.categories else "BAD_USER_INPUT"

    def order_refusal(self, request: OrderRequest, key: str | None) -> str | None:
        if key in self.orders_by_key:
            earlier_request, id = self.orders_by_key[key]
            return None if earlier_request == request and self.orders[id].is_alive else "CONFLICT"
        currencies = {self.products[id].currency for id, _ in request[2]}
        return "BAD_USER_INPUT" if len(currencies) > 1 else None

    def move(self, path: Path, to: Path) -> int:
        """Moves a category, and returns how many categories have a new path."""
        moved_paths = self.subtree(path)
        self.categories = self.categories - moved_paths | {to + category[len(path) :] for category in moved_paths}
        for product in self.products.values():
            if product.category in moved_paths:
                product.category = to + product.category[len(path) :]
                product.version += 1
        return len(moved_paths)

    def _orders_of(self, customer: str) -> dict[str, Any]:
        newest_first = self._select(lambda order: order.is_alive and order.customer == customer)[::-1]
        return {
            "orders": _ids(newest_first),
            "pending": _ids(order for order in newest_first if order.status == "PENDING"),
        }

    def _select(self, condition: Callable[[Order], object]) -> list[Order]:
        return [order for order in self.orders.values() if condition(order)]

    @staticmethod
    def _responses(orders: Iterable[Order]) -> list[dict[str, Any]]:
        return [order.to_response() for order in orders]


def transition_refusal(order: Order, to: str) -> str | None:
    return None if order.is_alive and to in TRANSITIONS[order.status] else "CONFLICT"


def _ids(orders: Iterable[Order]) -> list[dict[str, str]]:
    return [{"id": order.id} for order in orders]
