"""The cost of a field does not depend on the size of the tenant."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from keyfence.access_patterns.report import Measured
from keyfence.access_patterns.report import measurements as committed_measurements
from keyfence.app.domain_loading import load_domains
from keyfence.domains.stores.geohash import CELLS
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store.entity import ItemCollection
from tests.system.field_costs.__main__ import SIZE
from tests.system.field_costs.field_requests import MUTATIONS, QUERIES
from tests.system.field_costs.measurement import measurements, start_stack

pytestmark = pytest.mark.one_engine

LARGE = 300
FIELDS = ("viewer", *QUERIES, *MUTATIONS)
PATTERNS = load_domains().patterns
RANGE_QUERIES = {"stores_by_geohash": CELLS}
"""The only access pattern of several Queries: at most one for each range of geohashes that covers the circle."""
READ_WITH_PARENT = {id(named.pattern.children) for named in PATTERNS if isinstance(named.pattern, ItemCollection)}
"""Queries that an item collection makes. They need not be made on their own."""


@dataclass(frozen=True, slots=True)
class MeasuredTenants:
    """The cost of every field in a small and in a large tenant, and the number of items of the large one."""

    small: dict[str, Measured]
    large: dict[str, Measured]
    items: int


@pytest.fixture(scope="module")
def compared(engine_url: str, issuer: DevelopmentIssuer) -> Iterator[MeasuredTenants]:
    stack = start_stack(engine_url, issuer)
    _, small = asyncio.run(measurements(stack, SIZE))
    items, large = asyncio.run(measurements(stack, LARGE))
    yield MeasuredTenants(_by_field(small), _by_field(large), items)
    stack.close()


def _by_field(found: tuple[Measured, ...]) -> dict[str, Measured]:
    return {one.field: one for one in found}


def test_the_large_tenant_is_large(compared: MeasuredTenants) -> None:
    assert compared.items >= 10_000


def test_an_access_pattern_is_one_call_and_costs_the_same_in_every_tenant(compared: MeasuredTenants) -> None:
    for named in PATTERNS:
        using = [one for one in compared.small.values() if named.name in one.reads]
        assert using or id(named.pattern) in READ_WITH_PARENT or named.is_control_plane, named
        for one in using:
            cost = one.reads[named.name]
            assert compared.large[one.field].reads[named.name] == cost, (named, one.field)
            if one.field not in MUTATIONS:
                assert 1 <= cost.calls <= RANGE_QUERIES.get(named.name, 1), (named, one.field)


def test_a_field_costs_the_same_in_every_tenant(compared: MeasuredTenants) -> None:
    assert compared.large == compared.small
    assert compared.small.keys() == set(FIELDS)


def test_the_committed_cost_of_a_field_has_not_drifted(compared: MeasuredTenants) -> None:
    assert _by_field(committed_measurements()) == compared.small, "run uv run python -m tests.system.field_costs"


def test_every_root_field_is_measured_and_nothing_else() -> None:
    roots: list[Any] = [load_domains().schema._schema.query_type, load_domains().schema._schema.mutation_type]
    assert {name for root in roots for name in root.fields} <= set(FIELDS)
    assert [one.field for one in committed_measurements()] == list(FIELDS)


def test_a_mutation_is_one_transaction_unless_it_deletes_or_moves_many_items(compared: MeasuredTenants) -> None:
    several = {field for field in MUTATIONS if compared.small[field].writes.calls != 1}
    assert several == {"deleteUser", "deleteGroup", "deleteOrder", "restoreOrder", "moveCategory"}
