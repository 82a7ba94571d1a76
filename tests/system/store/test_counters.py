"""Counters are exact under concurrent increments, with many shards and after lost answers."""

import asyncio

from keyfence.domains.counters.sharded_counter import CounterPart, CounterRepository, counter_by_name
from keyfence.store.writes import ActivityNote
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.tenant import TenantId
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack

SEEN = ActivityNote("thing.seen")


async def nonzero_parts(counters: CounterRepository, name: str) -> list[CounterPart]:
    """Returns the parts of a counter in all shards, without parts that are 0."""
    (parts,) = await counters.table.find_in_all_shards(counter_by_name, [{"name": name}])
    return [part for part in parts if part.total]


async def test_concurrent_increments_are_all_counted(stack: ServiceStack, tenant: TenantId) -> None:
    counters = CounterRepository(stack.table(tenant))
    await asyncio.gather(*(counters.add("a", SEEN) for _ in range(20)), counters.add("b", SEEN, number=5))
    assert await counters.totals(["a", "never", "b"]) == [20, 0, 5]


async def test_a_lost_answer_does_not_count_twice(stack: ServiceStack, tenant: TenantId) -> None:
    counters = CounterRepository(stack.table(tenant))
    stack.gate.faults = (Fault(kind="lost_response", operation="TransactWriteItems", every=2),)
    try:
        for _ in range(5):
            await counters.add("a", SEEN)
    finally:
        stack.gate.faults = ()
    assert await counters.totals(["a"]) == [5]


async def test_a_sum_over_shards_costs_one_batch_and_misses_no_shard(stack: ServiceStack, tenant: TenantId) -> None:
    sharded_counters = CounterRepository(stack.table(tenant, shards=even_shards({"counters": 8})))
    for _ in range(24):
        await sharded_counters.add("a", SEEN)
    assert len(await nonzero_parts(sharded_counters, "a")) >= 4
    stack.take_calls()
    assert await sharded_counters.totals(["a", "b"]) == [24, 0]
    assert [call.operation for call in stack.take_calls()] == ["BatchGetItem"]
