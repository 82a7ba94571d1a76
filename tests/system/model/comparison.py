"""Runs the same changes on the service and on a shop in memory, and compares them."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.stack import ApiClient
from tests.system.model import graphql_documents as ask
from tests.system.model.reference_shop import Shop, Wanted, step_refusal
from tests.system.model.shop_objects import STEPS, Line, Order, Path, Product, money


@dataclass(slots=True)
class Comparison:
    """One tenant. Each change returns the new id, or None if both the service and the shop in memory refuse it.

    Responses are compared after each change, and all lists after each change that succeeded. `moves` counts the
    outcomes of category moves."""

    session: ApiClient
    runner: asyncio.Runner
    moves: Counter[str]
    shop: Shop = field(default_factory=Shop)
    known: set[Path] = field(default_factory=set)
    compared: int = -1

    def asked(self, document: str, **variables: Any) -> Any:
        return ask.bare(self.runner.run(self.session.data(document, **variables)))

    def done(self, document: str, refusal: str | None, **variables: Any) -> Any:
        """Returns the response, or None if the service refused and the shop in memory does too."""
        answer = self.runner.run(self.session.execute(document, **variables))
        said = [error["extensions"]["code"] for error in answer.get("errors", ())]
        assert said == ([refusal] if refusal else []), answer
        return None if refusal else ask.bare(answer["data"]["done"])

    def customer(self) -> str:
        id: str = self.done(ask.NEW_CUSTOMER, None)["id"]
        self.shop.customers.append(id)
        self.shop.noted("customer.created", id)
        return id

    def category(self, path: Path) -> None:
        self.known.add(path)
        if self.done(ask.NEW_CATEGORY, self.shop.category_refusal(path), path=path):
            self.shop.categories.add(path)
            self.shop.noted("category.created")

    def move(self, path: Path, to: Path) -> None:
        refusal = self.shop.move_refusal(path, to)
        self.moves[refusal or "done"] += 1
        moved = self.done(ask.MOVE, refusal, path=path, to=to)
        if moved is not None:
            assert moved == self.shop.moved(path, to)
            self.known |= self.shop.categories
            self.shop.noted("category.moved")

    def product(self, sku: str, cost: int, path: Path) -> str | None:
        currency = "USD" if sku.startswith("$") else "EUR"
        given = {"sku": sku, "name": sku, "price": money(cost), "category": path, "currency": currency}
        made = self.done(ask.NEW_PRODUCT, self.shop.product_refusal(sku, path), input=given)
        if made is None:
            return None
        product = Product(id=made["id"], sku=sku, currency=currency, category=path, revisions=[(sku, cost)])
        self.shop.products[product.id] = product
        self.shop.noted("product.created", product.id)
        assert made == product.shown()
        return product.id

    def revise(self, id: str, name: str, cost: int, path: Path | None) -> None:
        product = self.shop.products[id]
        to = path or product.category
        refusal = None if to in self.shop.categories else "BAD_USER_INPUT"
        made = self.done(ask.REVISE, refusal, id=id, input={"name": name, "price": money(cost), "category": to})
        if made is None:
            return
        if (product.category, product.revisions[-1]) != (to, (name, cost)):
            product.category, product.version = to, product.version + 1
            product.revisions.append((name, cost))
            self.shop.noted("product.revised", id)
        assert made == product.shown()

    def view(self, id: str) -> None:
        assert self.done(ask.VIEW, None, id=id)
        self.shop.products[id].views += 1
        self.shop.noted("product.viewed", id)

    def place(
        self, customer: str, region: str, lines: tuple[tuple[str, int], ...], key: str | None = None
    ) -> str | None:
        wanted: Wanted = (customer, region, lines)
        items = [{"productId": id, "quantity": quantity} for id, quantity in lines]
        given = {"customerId": customer, "region": region, "items": items}
        made = self.done(ask.PLACE, self.shop.order_refusal(wanted, key), input=given, key=key)
        if made is None:
            return None
        month = made.pop("createdAt")[:7]
        if key not in self.shop.keys:
            self._placed(made["id"], wanted, month, key)
            assert made == self.shop.orders[made["id"]].shown()
            return str(made["id"])
        assert made == self.shop.orders[self.shop.keys[key][1]].shown()
        return None

    def _placed(self, id: str, wanted: Wanted, month: str, key: str | None) -> None:
        customer, region, lines = wanted
        found = [(self.shop.products[product], quantity) for product, quantity in lines]
        kept = [Line(product=product, quantity=quantity, cents=product.cents) for product, quantity in found]
        order = Order(id=id, customer=customer, region=region, month=month, lines=kept)
        order.happened("placed", None, "PENDING")
        self.shop.orders[id] = order
        self.shop.noted("order.placed", id)
        if key:
            self.shop.keys[key] = (wanted, id)

    def onward(self, id: str) -> None:
        """Moves an order to its next status, if there is one."""
        steps = [status for status in STEPS if status in STEPS[self.shop.orders[id].status]]
        if steps:
            self.step(id, steps[0])

    def cancel(self, id: str) -> None:
        self.step(id, "CANCELLED")

    def step(self, id: str, to: str, versions_behind: int | None = None) -> None:
        order = self.shop.orders[id]
        version = None if versions_behind is None else len(order.history) - versions_behind
        refusal = "CONFLICT" if versions_behind else step_refusal(order, to)
        made = self.done(ask.STEP, refusal, id=id, to=to, version=version, note="so it is")
        if made is None:
            return
        order.happened("transitioned", order.status, to, "so it is")
        order.status = to
        self.shop.noted("order.transitioned", id)
        assert made == order.shown()

    def flag(self, id: str) -> None:
        order = self.shop.orders[id]
        refusal = None if order.alive and order.flagged is None else "CONFLICT"
        made = self.done(ask.FLAG, refusal, id=id, reason="odd")
        if made is None:
            return
        order.flagged = self.shop.noted("order.flagged", id)
        order.happened("flagged", note="odd")
        assert made == order.shown()

    def claim(self) -> None:
        made = self.done(ask.CLAIM, None)
        waiting = self.shop.queue()
        if not waiting:
            assert made is None
            return
        order = waiting[0]
        order.flagged = None
        order.happened("claimed")
        self.shop.noted("order.claimed", order.id)
        assert made == order.shown()

    def delete(self, id: str) -> None:
        order = self.shop.orders[id]
        made = self.done(ask.DELETE, None, id=id)
        if order.alive:
            order.deleted = self.shop.noted("order.deleted", id)
            order.happened("deleted")
        assert made == order.shown()

    def restore(self, id: str) -> None:
        order = self.shop.orders[id]
        made = self.done(ask.RESTORE, "CONFLICT" if order.alive else None, id=id)
        if made is None:
            return
        order.deleted = None
        order.happened("restored")
        self.shop.noted("order.restored", id)
        assert made == order.shown()

    def compare_lists(self) -> None:
        if self.compared == len(self.shop.journal):
            return
        self.compared = len(self.shop.journal)
        month = f"{datetime.now(UTC):%Y-%m}"
        for name, shown in self.asked(ask.LISTS, month=month).items():
            expected = self.shop.lists(month)[name]
            assert shown == expected, f"{name}: {shown}, not {expected}"

    def compare_everything(self) -> None:
        self.compared = -1
        self.compare_lists()
        for path in self.known:
            shown = [product.shown() for product in self.shop.in_category(path)]
            assert self.asked(ask.IN_CATEGORY, path=path)["found"] == shown
        for product in self.shop.products.values():
            assert self.asked(ask.BY_SKU, sku=product.sku)["found"] == product.shown()
        for id, order in self.shop.orders.items():
            assert self.asked(ask.BY_ID, id=id)["found"] == (order.shown() if order.alive else None)
