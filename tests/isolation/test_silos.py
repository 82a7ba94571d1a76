"""Silos behind the gate: a session reaches the tables of its session policy and no other, on both engines."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest

from keyfence.tenancy.suspensions import PublishSuspensions
from keyfence_iam.sts.session_spec import TableAccess
from tests.isolation.catalogue_calls import one_call_of_each_kind
from tests.isolation.denials import assert_allowed, assert_denied
from tests.isolation.silo_sessions import FOREIGN, HYPHENED, LONGER, NEIGHBOURS, OWN, TENANT, Silos, key, silos
from tests.stack import ServiceStack

CALLS = tuple(call for call in one_call_of_each_kind() if call.realm == "tenant")
each_placement = pytest.mark.parametrize("placement", TableAccess)


@pytest.fixture(scope="module")
def beside(stack: ServiceStack) -> Iterator[Silos]:
    with silos(stack) as made:
        yield made


@pytest.fixture
async def shut(stack: ServiceStack) -> AsyncIterator[PublishSuspensions]:
    shut = stack.connections.publish_suspensions
    yield shut
    await shut([])


@each_placement
@pytest.mark.parametrize("writes", [False, True], ids=["reading", "writing"])
async def test_every_kind_of_call_is_allowed_in_the_tables_of_the_session_only(
    beside: Silos, placement: TableAccess, writes: bool
) -> None:
    client, reached = await beside.client(placement, writes=writes), beside.expected_tables(placement)
    for call in CALLS:
        for table in beside.tables:
            own = call.parameters(table, OWN)
            if table in reached and (writes or not call.writes):
                assert_allowed(client, call.operation, own)
            else:
                denial = assert_denied(client, call.operation, own)
                theirs = table in {beside.of(neighbour) for neighbour in NEIGHBOURS}
                narrowed = not theirs and (writes or not call.writes)
                assert denial["lacking"] == ("session" if narrowed else "identity-based")
            assert_denied(client, call.operation, call.parameters(table, FOREIGN))


@each_placement
async def test_a_migration_session_is_limited_to_the_same_tables_as_a_tenant_session(
    beside: Silos, placement: TableAccess
) -> None:
    client, reached = await beside.migration_client(placement), beside.expected_tables(placement)
    for call in CALLS:
        for table in beside.tables:
            (assert_allowed if table in reached else assert_denied)(client, call.operation, call.parameters(table, OWN))
            assert_denied(client, call.operation, call.parameters(table, FOREIGN))


async def test_a_neighbour_whose_id_continues_ours_reaches_its_own_silo_and_not_ours(beside: Silos) -> None:
    for neighbour in NEIGHBOURS:
        client = await beside.client(TableAccess.SILO, neighbour)
        assert_allowed(client, "PutItem", {"TableName": beside.of(neighbour), "Item": key(neighbour)})
        for table in (beside.pool, beside.of(TENANT)):
            assert_denied(client, "PutItem", {"TableName": table, "Item": key(neighbour)})
            assert_denied(client, "GetItem", {"TableName": table, "Key": key(TENANT)})


async def test_a_move_writes_both_tables_in_one_transaction_and_reads_them_in_one(beside: Silos) -> None:
    item = {**key(TENANT, "both"), "note": {"S": "kept twice"}}
    both = (beside.pool, beside.of(TENANT))
    client = await beside.client(TableAccess.BOTH)
    assert_allowed(
        client, "TransactWriteItems", {"TransactItems": [{"Put": {"TableName": one, "Item": item}} for one in both]}
    )
    reads: Any = {"TransactItems": [{"Get": {"TableName": one, "Key": key(TENANT, "both")}} for one in both]}
    assert [one["Item"] for one in client.transact_get_items(**reads)["Responses"]] == [item, item]
    batch: Any = {"RequestItems": {one: {"Keys": [key(TENANT, "both")]} for one in both}}
    assert client.batch_get_item(**batch)["Responses"] == {one: [item] for one in both}


Shape = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
TRANSACTED: Mapping[str, Shape] = {
    "a put": lambda table, item: ("TransactItems", {"Put": {"TableName": table, "Item": item}}),
    "a deletion": lambda table, item: ("TransactItems", {"Delete": {"TableName": table, "Key": item}}),
    "a check": lambda table, item: (
        "TransactItems",
        {"ConditionCheck": {"TableName": table, "Key": item, "ConditionExpression": "attribute_not_exists(nothing)"}},
    ),
}


@pytest.mark.parametrize("shape", TRANSACTED)
@pytest.mark.parametrize("place", ["another's silo", "another's partition of the pool", "another's in its own silo"])
async def test_one_foreign_item_denies_a_whole_transaction_over_two_tables(
    beside: Silos, shape: str, place: str
) -> None:
    foreign = {
        "another's silo": (beside.of(HYPHENED), key(TENANT)),
        "another's partition of the pool": (beside.pool, key(LONGER)),
        "another's in its own silo": (beside.of(TENANT), key(HYPHENED)),
    }[place]
    name, member = TRANSACTED[shape](*foreign)
    own = [{"Put": {"TableName": table, "Item": key(TENANT, "never")}} for table in (beside.pool, beside.of(TENANT))]
    client, before = await beside.client(TableAccess.BOTH), beside.items()
    for members in ([*own, member], [member, *own], [own[0], member, own[1]]):
        assert_denied(client, "TransactWriteItems", {name: members})
    assert beside.items() == before


@pytest.mark.parametrize("placement", [TableAccess.POOL, TableAccess.SILO])
async def test_a_session_for_one_table_cannot_use_two_in_one_call(beside: Silos, placement: TableAccess) -> None:
    both, client, before = (beside.pool, beside.of(TENANT)), await beside.client(placement), beside.items()
    item = key(TENANT, "never")
    for tables in (both, both[::-1]):
        puts = [{"Put": {"TableName": table, "Item": item}} for table in tables]
        assert_denied(client, "TransactWriteItems", {"TransactItems": puts})
        gets = [{"Get": {"TableName": table, "Key": item}} for table in tables]
        assert_denied(client, "TransactGetItems", {"TransactItems": gets})
        requests = {table: [{"PutRequest": {"Item": item}}] for table in tables}
        assert_denied(client, "BatchWriteItem", {"RequestItems": requests})
        assert_denied(client, "BatchGetItem", {"RequestItems": {table: {"Keys": [item]} for table in tables}})
    assert beside.items() == before


@pytest.mark.parametrize("writes", [False, True], ids=["reading", "writing"])
async def test_calls_without_a_partition_key_are_denied_in_a_silo_too(beside: Silos, writes: bool) -> None:
    client = await beside.client(TableAccess.SILO, writes=writes)
    for table in beside.tables:
        for place in ({}, {"IndexName": "GSI1"}, {"Segment": 0, "TotalSegments": 2}):
            assert assert_denied(client, "Scan", {"TableName": table, **place})["explicit"]
        assert assert_denied(client, "ExecuteStatement", {"Statement": f'SELECT * FROM "{table}"'})["explicit"]


@each_placement
async def test_a_suspended_tenants_live_sessions_are_denied_in_its_silo(
    beside: Silos, shut: PublishSuspensions, placement: TableAccess
) -> None:
    clients = [await beside.client(placement, writes=writes) for writes in (False, True)]
    neighbour = await beside.client(TableAccess.SILO, HYPHENED)
    mover = await beside.migration_client(placement)
    await shut([TENANT])
    for call in CALLS:
        for table in beside.tables:
            for client in clients:
                assert assert_denied(client, call.operation, call.parameters(table, OWN))["explicit"]
            if table in beside.expected_tables(placement):
                assert_allowed(mover, call.operation, call.parameters(table, OWN))
    assert_allowed(neighbour, "GetItem", {"TableName": beside.of(HYPHENED), "Key": key(HYPHENED)})
    await shut([])
    for table in beside.expected_tables(placement):
        assert_allowed(clients[0], "GetItem", {"TableName": table, "Key": key(TENANT)})
