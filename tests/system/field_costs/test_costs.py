"""The cost of a field does not depend on the size of the tenant."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from keyfence.access_patterns.report import FieldCost, load_field_costs
from keyfence.app.domain_loading import load_domains
from keyfence.domains.stores.geohash import MAX_CELLS
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store.entity import ItemCollection
from tests.system.field_costs.__main__ import SMALL_SIZE
from tests.system.field_costs.field_requests import MUTATIONS, QUERIES
from tests.system.field_costs.measurement import measure_field_costs, start_stack

pytestmark = pytest.mark.one_engine

LARGE_SIZE = 300
"""Objects of each kind in the large tenant, which then has more than 10,000 items."""
FIELDS = ("viewer", *QUERIES, *MUTATIONS)
PATTERNS = load_domains().patterns
MAX_QUERIES = {"stores_by_geohash": MAX_CELLS}
"""The only access pattern that makes several Queries: at most one for each range of geohashes that covers a circle."""
READ_WITH_PARENT = {id(named.pattern.children) for named in PATTERNS if isinstance(named.pattern, ItemCollection)}
"""Queries of item collections. A field need not make such a Query without the parent."""


@dataclass(frozen=True, slots=True)
class MeasuredTenants:
    """The cost of every field in a small and in a large tenant, by field."""

    small: dict[str, FieldCost]
    large: dict[str, FieldCost]
    large_item_count: int


@pytest.fixture(scope="module")
def tenants(engine_url: str, issuer: DevelopmentIssuer) -> Iterator[MeasuredTenants]:
    stack = start_stack(engine_url, issuer)
    _, small = asyncio.run(measure_field_costs(stack, SMALL_SIZE))
    large_item_count, large = asyncio.run(measure_field_costs(stack, LARGE_SIZE))
    yield MeasuredTenants(_by_field(small), _by_field(large), large_item_count)
    stack.close()


def _by_field(costs: tuple[FieldCost, ...]) -> dict[str, FieldCost]:
    return {cost.field: cost for cost in costs}


def test_the_large_tenant_is_large(tenants: MeasuredTenants) -> None:
    assert tenants.large_item_count >= 10_000


def test_an_access_pattern_is_one_call_and_costs_the_same_in_every_tenant(tenants: MeasuredTenants) -> None:
    for named in PATTERNS:
        users = [field_cost for field_cost in tenants.small.values() if named.name in field_cost.reads]
        assert users or id(named.pattern) in READ_WITH_PARENT or named.is_control_plane, named
        for field_cost in users:
            field, cost = field_cost.field, field_cost.reads[named.name]
            assert tenants.large[field].reads[named.name] == cost, (named, field)
            if field not in MUTATIONS:
                assert 1 <= cost.calls <= MAX_QUERIES.get(named.name, 1), (named, field)


def test_a_field_costs_the_same_in_every_tenant(tenants: MeasuredTenants) -> None:
    assert tenants.large == tenants.small
    assert tenants.small.keys() == set(FIELDS)


def test_the_committed_cost_of_a_field_has_not_drifted(tenants: MeasuredTenants) -> None:
    assert _by_field(load_field_costs()) == tenants.small, "run uv run python -m tests.system.field_costs"


def test_every_root_field_is_measured_and_nothing_else() -> None:
    roots: list[Any] = [load_domains().schema._schema.query_type, load_domains().schema._schema.mutation_type]
    assert {name for root in roots for name in root.fields} <= set(FIELDS)
    assert [cost.field for cost in load_field_costs()] == list(FIELDS)


def test_a_mutation_is_one_transaction_unless_it_deletes_or_moves_many_items(tenants: MeasuredTenants) -> None:
    made_of_several = {field for field in MUTATIONS if tenants.small[field].writes.calls != 1}
    assert made_of_several == {"deleteUser", "deleteGroup", "deleteOrder", "restoreOrder", "moveCategory"}
