"""`ShopMachine`: the changes that hypothesis makes to a shop, in any order."""

import asyncio
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from tests.stack import ServiceStack
from tests.system.model.comparison import Comparison
from tests.system.model.shop_objects import TRANSITIONS, Path

CHANGES = ("advance", "advance", "advance", "cancel", "flag", "delete", "restore")
"""`advance` occurs three times, so that some orders reach their last status."""

paths = st.sampled_from((("a",), ("b",), ("a", "b"), ("a", "c"), ("b", "a")))
skus = st.sampled_from(("S1", "S2", "S3", "S4", "S5", "$6"))
cents = st.sampled_from((0, 5, 110, 250, 1_000))
keys = st.sampled_from((None, None, "k1", "k2"))
regions = st.sampled_from(("north", "south"))
customers: Bundle[str] = Bundle("customers")
products: Bundle[str] = Bundle("products")
orders: Bundle[str] = Bundle("orders")
lines = st.lists(st.tuples(products, st.integers(1, 3)), min_size=1, max_size=3).map(tuple)


def _id_or_nothing(id: str | None) -> Any:
    """Returns what a rule adds to its bundle: nothing if the change was refused."""
    return multiple() if id is None else id


class ShopMachine(RuleBasedStateMachine):
    """One tenant, which starts with some objects of every kind. Changes are made one after the other.

    Several changes share one rule. Hypothesis turns off some rules in each run. If each change had its own rule, most
    runs would lack a change that other changes need."""

    def __init__(self, stack: ServiceStack, runner: asyncio.Runner, move_outcomes: Counter[str]) -> None:
        super().__init__()
        self.comparison = Comparison(stack.api_client(runner.run(stack.new_tenant())), runner, move_outcomes)

    @initialize(target=customers)
    def create_first_customers(self) -> Any:
        return multiple(self.comparison.create_customer(), self.comparison.create_customer())

    @initialize(target=products)
    def create_first_products(self) -> Any:
        self.comparison.create_category(("a",))
        self.comparison.create_category(("a", "b"))
        return multiple(
            self.comparison.create_product("S1", 110, ("a",)),
            self.comparison.create_product("S2", 5, ("a", "b")),
            self.comparison.create_product("$6", 5, ("a",)),
        )

    @precondition(lambda self: len(self.comparison.shop.customers) < 4)
    @rule(target=customers)
    def create_customer(self) -> str:
        return self.comparison.create_customer()

    @rule(path=paths, to=paths)
    def move_any_path_and_create_it_again(self, path: Path, to: Path) -> None:
        """Moves a path that may not exist. So the move and the creation may each be refused."""
        self.comparison.move_category(path, to)
        self.comparison.create_category(path)

    @rule(indexes=st.lists(st.integers(0, 99), min_size=1, max_size=3))
    def make_possible_moves(self, indexes: list[int]) -> None:
        for index in indexes:
            moves = self.comparison.shop.possible_moves()
            self.comparison.move_category(*moves[index % len(moves)])

    @rule(index=st.integers(0, 9), to=paths)
    def move_existing_category(self, index: int, to: Path) -> None:
        existing = sorted(self.comparison.shop.categories)
        self.comparison.move_category(existing[index % len(existing)], to)

    @rule(target=products, sku=skus, cents=cents, path=paths)
    def create_product(self, sku: str, cents: int, path: Path) -> Any:
        return _id_or_nothing(self.comparison.create_product(sku, cents, path))

    @rule(id=products, name=st.sampled_from(("Pen", "Ink")), cents=cents, path=st.sampled_from((None, ("a",), ("b",))))
    def view_and_revise_product(self, id: str, name: str, cents: int, path: Path | None) -> None:
        self.comparison.view_product(id)
        self.comparison.revise_product(id, name, cents, path)

    @rule(target=orders, customer=customers, region=regions, lines=lines, key=keys)
    def place_order(self, customer: str, region: str, lines: tuple[tuple[str, int], ...], key: str | None) -> Any:
        return _id_or_nothing(self.comparison.place_order(customer, region, lines, key))

    @rule(target=orders, customer=customers, id=products, region=regions)
    def place_and_confirm_order(self, customer: str, id: str, region: str) -> Any:
        order = self.comparison.place_order(customer, region, ((id, 2),))
        assert order is not None
        self.comparison.advance(order)
        return order

    @rule(id=orders, change=st.sampled_from(CHANGES))
    def change_order(self, id: str, change: str) -> None:
        getattr(self.comparison, change)(id)

    @rule(id=orders, second_change=st.sampled_from(CHANGES), change=st.sampled_from(CHANGES))
    def change_order_twice(self, id: str, change: str, second_change: str) -> None:
        self.change_order(id, change)
        self.change_order(id, second_change)

    @rule(id=orders, to=st.sampled_from(tuple(TRANSITIONS)), versions_behind=st.sampled_from((None, 0, 1)))
    def transition_to_any_status(self, id: str, to: str, versions_behind: int | None) -> None:
        self.comparison.transition(id, to, versions_behind)

    @rule(ids=st.lists(orders, min_size=1, max_size=3), claims=st.integers(1, 2))
    def flag_and_claim(self, ids: list[str], claims: int) -> None:
        for id in ids:
            self.comparison.flag(id)
        for _ in range(claims):
            self.comparison.claim()

    @precondition(lambda self: self.comparison.shop.recycle_bin())
    @rule(index=st.integers(0, 9))
    def restore_order(self, index: int) -> None:
        deleted = self.comparison.shop.recycle_bin()
        self.comparison.restore(deleted[index % len(deleted)].id)

    @invariant()
    def lists_agree(self) -> None:
        self.comparison.compare_lists()

    def teardown(self) -> None:
        self.comparison.compare_everything()
