"""A tenant is served while it moves: servers that are one step apart lose nothing, and each write is in both tables."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.counters.sharded_counter import CounterRepository
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.model import GroupRole, MemberId
from keyfence.domains.groups.repository import GroupRepository
from keyfence.domains.orders.line_items import RequestedLine
from keyfence.domains.orders.model import OrderStatus
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Forbidden, Internal, KeyfenceError, Throttled
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import ActivityNote
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.data.orders import PEN, Shop
from tests.stack import ServiceStack
from tests.system.jobs.moving_tenant import MovingTenant

POOL, SILO = (None, Placement.POOL), (None, Placement.SILO)
DUAL, SWITCHED = (MovePhase.DUAL, Placement.POOL), (MovePhase.SWITCHED, Placement.POOL)
COUNTED = ActivityNote("counted", "x", {})
ROUNDS = 3


@pytest.fixture
async def moving(stack: ServiceStack) -> MovingTenant:
    return await MovingTenant.create(stack)


async def busy(table: Table, user: Any, hand: int) -> None:
    """Writes to the same items as the other writers, at the same time."""
    users, counters = UserRepository(table), CounterRepository(table)
    for at in range(ROUNDS):
        await counters.add("door", COUNTED)
        await users.put_setting(user, f"s{at}", f"{hand}")
        await users.put_setting(user, f"of{hand}", at)
        await users.create(email=f"{hand}-{at}@x.example", name="N", role=Role.MEMBER)


async def outcome(table: Table, user: Any) -> tuple[list[int], set[str], int]:
    found = await UserRepository(table).get(user)
    named = {setting.name for setting in (await UserRepository(table).settings_of([found]))[0]}
    assert named == found.setting_names
    page = await UserRepository(table).newest(first=100, after=None)
    return await CounterRepository(table).totals(["door"]), named, len(page.items)


@pytest.mark.parametrize(
    ("one", "next_one"), [(POOL, DUAL), (DUAL, SWITCHED), (SWITCHED, SILO)], ids=["dual", "switch", "end"]
)
async def test_servers_in_consecutive_phases_lose_no_write(moving: MovingTenant, one: Any, next_one: Any) -> None:
    pool = await moving.table(*POOL)
    user = (await UserRepository(pool).create(email="u@x.example", name="U", role=Role.OWNER)).id
    await CounterRepository(pool).add("door", COUNTED)
    if one is not POOL:
        await moving.backfill()
    tables = [await moving.table(*step) for step in (one, next_one, one, next_one)]
    await asyncio.gather(*(busy(table, user, hand) for hand, table in enumerate(tables)))
    if one is POOL:
        await moving.backfill()
    named = {*(f"s{at}" for at in range(ROUNDS)), *(f"of{hand}" for hand in range(4))}
    expected = ([1 + 4 * ROUNDS], named, 1 + 4 * ROUNDS)
    assert await outcome(await moving.table(*next_one), user) == expected
    kept, copied = moving.items_in_both_tables()
    assert (kept == copied) is (next_one is not SILO), "only who has arrived writes to one table alone"
    if next_one is not SILO:
        assert await outcome(await moving.table(*one), user) == expected


async def test_status_changes_of_orders_are_made_in_both_tables(moving: MovingTenant) -> None:
    shop = await Shop.opened(await moving.table(*POOL))
    early = await shop.place(idempotency_key="early")
    before = moving.items(moving.pool)
    shop = replace(shop, table=replace(await moving.table(*DUAL), activity_log=shop.table.activity_log))
    late = await shop.place(idempotency_key="late")
    for order in (early, late):
        await shop.orders.transition(order.id, OrderStatus.CONFIRMED)
        await shop.bin.delete(order.id)
    await shop.bin.restore(early.id)
    kept, copied = moving.items_in_both_tables()
    assert {key: kept[key] for key in copied} == copied
    assert {key: before.get(key) for key in kept if key not in copied}.items() <= kept.items(), "they were not touched"
    await moving.backfill()
    switched = replace(shop, table=await moving.table(*SWITCHED))
    assert await switched.lists() == await shop.lists()


async def test_an_outdated_copy_that_an_update_does_not_fit_is_replaced(moving: MovingTenant) -> None:
    table = await moving.table(*DUAL)
    user = await UserRepository(table).create(email="u@x.example", name="U", role=Role.OWNER)
    group = await GroupRepository(table).create(name="G", description=None)
    for partition, sort in moving.items(moving.silo):
        moving.stack.engine_client().update_item(
            TableName=moving.silo,
            Key={"PK": {"S": partition}, "SK": {"S": sort}},
            UpdateExpression="REMOVE embeddedEdges",
        )
    await MembershipRepository(table).add(group.id, MemberId(user.id), GroupRole.MEMBER)
    kept, copied = moving.items_in_both_tables()
    assert kept == copied


async def test_an_order_of_44_items_is_placed_in_both_tables_and_a_larger_one_is_throttled(
    moving: MovingTenant,
) -> None:
    shop = await Shop.opened(await moving.table(*DUAL))
    await shop.place(*[RequestedLine(PEN, 1)] * 44, idempotency_key="fits")
    before = moving.items_in_both_tables()
    assert before[0] == before[1]
    with pytest.raises(Throttled, match="retry after the move"):
        await shop.place(*[RequestedLine(PEN, 1)] * 45, idempotency_key="large")
    assert moving.items_in_both_tables() == before


class PoolOnly:
    """Gives credentials that reach only the shared table, whatever access is requested."""

    def __init__(self, stack: ServiceStack) -> None:
        self.given = stack.tables.credentials

    def for_tenant(self, tenant: TenantId, *, may_write: bool, table_access: TableAccess) -> CredentialSource:
        return self.given.for_tenant(tenant, may_write=may_write, table_access=TableAccess.POOL)

    def for_control_plane(self, *, may_write: bool) -> CredentialSource:
        return self.given.for_control_plane(may_write=may_write)


async def refused(table: Table, *error: type[KeyfenceError]) -> None:
    once = replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=2, first_pause_seconds=0.0)))
    with pytest.raises(error):
        await UserRepository(once).create(email="n@x.example", name="N", role=Role.MEMBER)
    with pytest.raises(error):
        await CounterRepository(once).add("door", COUNTED)


async def test_a_write_that_is_denied_in_the_second_table_changes_nothing(moving: MovingTenant) -> None:
    await CounterRepository(await moving.table(*DUAL)).add("door", COUNTED)
    before = moving.items_in_both_tables()
    narrow = replace(moving.stack.tables, credentials=PoolOnly(moving.stack))
    await refused(narrow.for_tenant(await moving.publish_location(*DUAL), may_write=True), Forbidden)
    assert moving.items_in_both_tables() == before


@pytest.fixture
def limits(stack: ServiceStack) -> Iterator[PartitionLimits]:
    stack.gate.limits = PartitionLimits(now=lambda: 1000.0)
    yield stack.gate.limits
    stack.gate.limits = None


async def test_a_write_that_is_throttled_in_the_second_table_changes_nothing(
    moving: MovingTenant, limits: PartitionLimits
) -> None:
    table = await moving.table(*DUAL)
    await CounterRepository(table).add("door", COUNTED)
    await UserRepository(table).create(email="u@x.example", name="U", role=Role.OWNER)
    before = moving.items_in_both_tables()
    assert before[0] == before[1]
    units = limits.rates.write * limits.rates.burst_seconds + 1
    for partition, _ in before[1]:
        limits.buckets.take([PartitionUnits(Partition(moving.silo, None, partition), "write", units)])
    await refused(table, Throttled)
    assert moving.items_in_both_tables() == before


async def test_a_write_without_a_second_table_changes_nothing(stack: ServiceStack) -> None:
    lost = MovingTenant(stack, await stack.new_tenant())
    await refused(await lost.table(*DUAL), Forbidden, Internal)
    assert lost.items(lost.pool) == {}


async def test_a_cursor_from_the_pool_continues_in_the_silo(moving: MovingTenant) -> None:
    users = UserRepository(await moving.table(*POOL))
    for at in range(5):
        await users.create(email=f"{at}@x.example", name="N", role=Role.MEMBER)
    await moving.backfill()
    first = await users.newest(first=2, after=None)
    for step in (DUAL, SWITCHED, SILO):
        rest = await UserRepository(await moving.table(*step)).newest(first=10, after=first.edges[-1].cursor())
        assert [user.email[0] for user in (*first.items, *rest.items)] == ["4", "3", "2", "1", "0"]


async def test_after_the_move_a_tenant_can_only_reach_its_silo(moving: MovingTenant) -> None:
    table = await moving.table(*SILO)
    await UserRepository(table).create(email="u@x.example", name="U", role=Role.OWNER)
    kept, copied = moving.items_in_both_tables()
    assert kept == {}
    assert copied
    stray = replace(table, caller=replace(table.caller, table=moving.pool))
    with pytest.raises(Forbidden):
        await UserRepository(stray).newest(first=1, after=None)
    neighbour = TenantLocation(tenant=await moving.stack.new_tenant(), read_from=TableAccess.SILO)
    elsewhere = moving.stack.tables.for_tenant(neighbour, may_write=True)
    foreign = replace(elsewhere, caller=replace(elsewhere.caller, table=moving.silo))
    with pytest.raises(Forbidden):
        await UserRepository(foreign).newest(first=1, after=None)
    assert tenant_key_prefix(moving.tenant) == table.fence.prefix
