"""The changes that hypothesis makes to a shop, in any order."""

import asyncio
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from tests.stack import ServiceStack
from tests.system.model.comparison import Comparison
from tests.system.model.shop_objects import STEPS, Path

CHANGES = ("onward", "onward", "onward", "cancel", "flag", "delete", "restore")
"""Most changes move an order on, so that some orders reach their last status."""

paths = st.sampled_from((("a",), ("b",), ("a", "b"), ("a", "c"), ("b", "a")))
skus = st.sampled_from(("S1", "S2", "S3", "S4", "S5", "$6"))
cents = st.sampled_from((0, 5, 110, 250, 1_000))
keys = st.sampled_from((None, None, "k1", "k2"))
regions = st.sampled_from(("north", "south"))
customers: Bundle[str] = Bundle("customers")
products: Bundle[str] = Bundle("products")
orders: Bundle[str] = Bundle("orders")
lines = st.lists(st.tuples(products, st.integers(1, 3)), min_size=1, max_size=3).map(tuple)


def _made(id: str | None) -> Any:
    return multiple() if id is None else id


class Machine(RuleBasedStateMachine):
    """One tenant that starts with some objects of every kind, and whose changes come one after the other.

    Variants of a change share one rule. Hypothesis turns off whole rules in each run, and with a rule for each variant
    most runs would lack one that the others need."""

    def __init__(self, stack: ServiceStack, runner: asyncio.Runner, moves: Counter[str]) -> None:
        super().__init__()
        self.twins = Comparison(stack.api_client(runner.run(stack.new_tenant())), runner, moves)

    @initialize(target=customers)
    def open_with_customers(self) -> Any:
        return multiple(self.twins.customer(), self.twins.customer())

    @initialize(target=products)
    def open_with_products(self) -> Any:
        self.twins.category(("a",))
        self.twins.category(("a", "b"))
        made = (self.twins.product("S1", 110, ("a",)), self.twins.product("S2", 5, ("a", "b")))
        return multiple(*made, self.twins.product("$6", 5, ("a",)))

    @precondition(lambda self: len(self.twins.shop.customers) < 4)
    @rule(target=customers)
    def customer(self) -> str:
        return self.twins.customer()

    @rule(path=paths, to=paths)
    def category(self, path: Path, to: Path) -> None:
        """Moves any path, which may not exist, to any other."""
        self.twins.move(path, to)
        self.twins.category(path)

    @rule(places=st.lists(st.integers(0, 99), min_size=1, max_size=3))
    def move_to_where_it_can_go(self, places: list[int]) -> None:
        for place in places:
            moves = self.twins.shop.moves()
            self.twins.move(*moves[place % len(moves)])

    @rule(place=st.integers(0, 9), to=paths)
    def move_what_is_there(self, place: int, to: Path) -> None:
        there = sorted(self.twins.shop.categories)
        self.twins.move(there[place % len(there)], to)

    @rule(target=products, sku=skus, cost=cents, path=paths)
    def product(self, sku: str, cost: int, path: Path) -> Any:
        return _made(self.twins.product(sku, cost, path))

    @rule(id=products, name=st.sampled_from(("Pen", "Ink")), cost=cents, path=st.sampled_from((None, ("a",), ("b",))))
    def look_at_and_revise(self, id: str, name: str, cost: int, path: Path | None) -> None:
        self.twins.view(id)
        self.twins.revise(id, name, cost, path)

    @rule(target=orders, customer=customers, region=regions, lines=lines, key=keys)
    def place(self, customer: str, region: str, lines: tuple[tuple[str, int], ...], key: str | None) -> Any:
        return _made(self.twins.place(customer, region, lines, key))

    @rule(target=orders, customer=customers, id=products, region=regions)
    def place_and_confirm(self, customer: str, id: str, region: str) -> Any:
        order = self.twins.place(customer, region, ((id, 2),))
        assert order is not None
        self.twins.onward(order)
        return order

    @rule(id=orders, change=st.sampled_from(CHANGES))
    def change(self, id: str, change: str) -> None:
        getattr(self.twins, change)(id)

    @rule(id=orders, again=st.sampled_from(CHANGES), change=st.sampled_from(CHANGES))
    def change_twice(self, id: str, change: str, again: str) -> None:
        self.change(id, change)
        self.change(id, again)

    @rule(id=orders, to=st.sampled_from(tuple(STEPS)), versions_behind=st.sampled_from((None, 0, 1)))
    def step_anywhere(self, id: str, to: str, versions_behind: int | None) -> None:
        self.twins.step(id, to, versions_behind)

    @rule(ids=st.lists(orders, min_size=1, max_size=3), claims=st.integers(1, 2))
    def flag_and_claim(self, ids: list[str], claims: int) -> None:
        for id in ids:
            self.twins.flag(id)
        for _ in range(claims):
            self.twins.claim()

    @precondition(lambda self: self.twins.shop.bin())
    @rule(place=st.integers(0, 9))
    def restore(self, place: int) -> None:
        there = self.twins.shop.bin()
        self.twins.restore(there[place % len(there)].id)

    @invariant()
    def lists_agree(self) -> None:
        self.twins.compare_lists()

    def teardown(self) -> None:
        self.twins.compare_everything()
