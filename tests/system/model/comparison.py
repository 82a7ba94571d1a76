"""`Comparison`: makes the same changes in the service and in a shop in memory, and compares the results."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.stack import ApiClient
from tests.system.model import graphql_documents as documents
from tests.system.model.reference_shop import OrderRequest, Shop, transition_refusal
from tests.system.model.shop_objects import TRANSITIONS, Line, Order, Path, Product, price_text


@dataclass(slots=True)
class Comparison:
    """Compares one tenant with a shop in memory.

    Each change must have the same outcome in both: the same error code, or an equal response.
    Methods that create something return the new id, or None if it was refused."""

    client: ApiClient
    runner: asyncio.Runner
    move_outcomes: Counter[str]
    """How many moves of a category were `done`, and how many were refused, by error code."""
    shop: Shop = field(default_factory=Shop)
    used_paths: set[Path] = field(default_factory=set)
    """Every path that a category has had, or was refused."""
    compared_activities: int = -1
    """The length of the activity log when the lists were last compared."""

    def query(self, document: str, **variables: Any) -> Any:
        return documents.without_edges(self.runner.run(self.client.data(document, **variables)))

    def mutate(self, document: str, refusal: str | None, **variables: Any) -> Any:
        """Returns the result of a mutation, or None if it is refused. `refusal` is the expected error code, if any."""
        answer = self.runner.run(self.client.execute(document, **variables))
        codes = [error["extensions"]["code"] for error in answer.get("errors", ())]
        assert codes == ([refusal] if refusal else []), answer
        return None if refusal else documents.without_edges(answer["data"]["result"])

    def create_customer(self) -> str:
        id: str = self.mutate(documents.NEW_CUSTOMER, None)["id"]
        self.shop.customers.append(id)
        self.shop.record_activity("customer.created", id)
        return id

    def create_category(self, path: Path) -> None:
        self.used_paths.add(path)
        if self.mutate(documents.NEW_CATEGORY, self.shop.category_refusal(path), path=path):
            self.shop.categories.add(path)
            self.shop.record_activity("category.created")

    def move_category(self, path: Path, to: Path) -> None:
        refusal = self.shop.move_refusal(path, to)
        self.move_outcomes[refusal or "done"] += 1
        moved_count = self.mutate(documents.MOVE_CATEGORY, refusal, path=path, to=to)
        if moved_count is not None:
            assert moved_count == self.shop.move(path, to)
            self.used_paths |= self.shop.categories
            self.shop.record_activity("category.moved")

    def create_product(self, sku: str, cents: int, path: Path) -> str | None:
        currency = "USD" if sku.startswith("$") else "EUR"
        fields = {"sku": sku, "name": sku, "price": price_text(cents), "category": path, "currency": currency}
        response = self.mutate(documents.NEW_PRODUCT, self.shop.product_refusal(sku, path), input=fields)
        if response is None:
            return None
        product = Product(id=response["id"], sku=sku, currency=currency, category=path, revisions=[(sku, cents)])
        self.shop.products[product.id] = product
        self.shop.record_activity("product.created", product.id)
        assert response == product.to_response()
        return product.id

    def revise_product(self, id: str, name: str, cents: int, path: Path | None) -> None:
        product = self.shop.products[id]
        category = path or product.category
        refusal = None if category in self.shop.categories else "BAD_USER_INPUT"
        fields = {"name": name, "price": price_text(cents), "category": category}
        response = self.mutate(documents.REVISE_PRODUCT, refusal, id=id, input=fields)
        if response is None:
            return
        if (product.category, product.revisions[-1]) != (category, (name, cents)):
            product.category, product.version = category, product.version + 1
            product.revisions.append((name, cents))
            self.shop.record_activity("product.revised", id)
        assert response == product.to_response()

    def view_product(self, id: str) -> None:
        assert self.mutate(documents.COUNT_VIEW, None, id=id)
        self.shop.products[id].views += 1
        self.shop.record_activity("product.viewed", id)

    def place_order(
        self, customer: str, region: str, lines: tuple[tuple[str, int], ...], key: str | None = None
    ) -> str | None:
        request: OrderRequest = (customer, region, lines)
        items = [{"productId": id, "quantity": quantity} for id, quantity in lines]
        fields = {"customerId": customer, "region": region, "items": items}
        response = self.mutate(documents.PLACE_ORDER, self.shop.order_refusal(request, key), input=fields, key=key)
        if response is None:
            return None
        month = response.pop("createdAt")[:7]
        if key not in self.shop.orders_by_key:
            self._add_order(response["id"], request, month, key)
            assert response == self.shop.orders[response["id"]].to_response()
            return str(response["id"])
        assert response == self.shop.orders[self.shop.orders_by_key[key][1]].to_response()
        return None

    def _add_order(self, id: str, request: OrderRequest, month: str, key: str | None) -> None:
        customer, region, lines = request
        products = [(self.shop.products[product], quantity) for product, quantity in lines]
        items = [Line(product=product, quantity=quantity, cents=product.cents) for product, quantity in products]
        order = Order(id=id, customer=customer, region=region, month=month, lines=items)
        order.add_event("placed", None, "PENDING")
        self.shop.orders[id] = order
        self.shop.record_activity("order.placed", id)
        if key:
            self.shop.orders_by_key[key] = (request, id)

    def advance(self, id: str) -> None:
        """Moves an order to its next status, if there is one."""
        next_statuses = [status for status in TRANSITIONS if status in TRANSITIONS[self.shop.orders[id].status]]
        if next_statuses:
            self.transition(id, next_statuses[0])

    def cancel(self, id: str) -> None:
        self.transition(id, "CANCELLED")

    def transition(self, id: str, to: str, versions_behind: int | None = None) -> None:
        """Changes the status. If `versions_behind` is set, sends an expected version that is so much too low."""
        order = self.shop.orders[id]
        version = None if versions_behind is None else len(order.history) - versions_behind
        refusal = "CONFLICT" if versions_behind else transition_refusal(order, to)
        response = self.mutate(documents.TRANSITION_ORDER, refusal, id=id, to=to, version=version, note="checked")
        if response is None:
            return
        order.add_event("transitioned", order.status, to, "checked")
        order.status = to
        self.shop.record_activity("order.transitioned", id)
        assert response == order.to_response()

    def flag(self, id: str) -> None:
        order = self.shop.orders[id]
        refusal = None if order.is_alive and order.flagged_at is None else "CONFLICT"
        response = self.mutate(documents.FLAG_ORDER, refusal, id=id, reason="odd")
        if response is None:
            return
        order.flagged_at = self.shop.record_activity("order.flagged", id)
        order.add_event("flagged", note="odd")
        assert response == order.to_response()

    def claim(self) -> None:
        response = self.mutate(documents.CLAIM_ORDER, None)
        queue = self.shop.review_queue()
        if not queue:
            assert response is None
            return
        order = queue[0]
        order.flagged_at = None
        order.add_event("claimed")
        self.shop.record_activity("order.claimed", order.id)
        assert response == order.to_response()

    def delete(self, id: str) -> None:
        order = self.shop.orders[id]
        response = self.mutate(documents.DELETE_ORDER, None, id=id)
        if order.is_alive:
            order.deleted_at = self.shop.record_activity("order.deleted", id)
            order.add_event("deleted")
        assert response == order.to_response()

    def restore(self, id: str) -> None:
        order = self.shop.orders[id]
        response = self.mutate(documents.RESTORE_ORDER, "CONFLICT" if order.is_alive else None, id=id)
        if response is None:
            return
        order.deleted_at = None
        order.add_event("restored")
        self.shop.record_activity("order.restored", id)
        assert response == order.to_response()

    def compare_lists(self) -> None:
        """Compares all lists, if anything has changed since the last comparison."""
        if self.compared_activities == len(self.shop.activity):
            return
        self.compared_activities = len(self.shop.activity)
        month = f"{datetime.now(UTC):%Y-%m}"
        for name, listed in self.query(documents.ALL_LISTS, month=month).items():
            expected = self.shop.lists(month)[name]
            assert listed == expected, f"{name}: {listed}, not {expected}"

    def compare_everything(self) -> None:
        self.compared_activities = -1
        self.compare_lists()
        for path in self.used_paths:
            expected = [product.to_response() for product in self.shop.products_in(path)]
            assert self.query(documents.PRODUCTS_IN_CATEGORY, path=path)["found"] == expected
        for product in self.shop.products.values():
            assert self.query(documents.PRODUCT_BY_SKU, sku=product.sku)["found"] == product.to_response()
        for id, order in self.shop.orders.items():
            assert self.query(documents.ORDER_BY_ID, id=id)["found"] == (
                order.to_response() if order.is_alive else None
            )
