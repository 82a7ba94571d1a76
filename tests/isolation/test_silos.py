"""Behind the gate, a session reaches the tables that its session policy names and no other table."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest

from keyfence.tenancy.suspensions import PublishSuspensions
from keyfence_iam.sts.session_spec import TableAccess
from tests.isolation.catalogue_calls import one_call_of_each_kind
from tests.isolation.denials import assert_allowed, assert_denied
from tests.isolation.silo_sessions import (
    FOREIGN_FENCE,
    HYPHENATED_NEIGHBOUR,
    LONGER_NEIGHBOUR,
    NEIGHBOURS,
    OWN_FENCE,
    TENANT,
    Silos,
    key,
    open_silos,
)
from tests.stack import ServiceStack

CALLS = tuple(call for call in one_call_of_each_kind() if call.realm == "tenant")
each_table_access = pytest.mark.parametrize("table_access", TableAccess)


@pytest.fixture(scope="module")
def silos(stack: ServiceStack) -> Iterator[Silos]:
    with open_silos(stack) as silos:
        yield silos


@pytest.fixture
async def publish_suspensions(stack: ServiceStack) -> AsyncIterator[PublishSuspensions]:
    publish_suspensions = stack.connections.publish_suspensions
    yield publish_suspensions
    await publish_suspensions([])


@each_table_access
@pytest.mark.parametrize("may_write", [False, True], ids=["reading", "writing"])
async def test_every_kind_of_call_is_allowed_in_the_tables_of_the_session_only(
    silos: Silos, table_access: TableAccess, may_write: bool
) -> None:
    client, allowed_tables = await silos.client(table_access, may_write=may_write), silos.expected_tables(table_access)
    for call in CALLS:
        for table in silos.tables:
            own_parameters = call.parameters(table, OWN_FENCE)
            if table in allowed_tables and (may_write or not call.writes):
                assert_allowed(client, call.operation, own_parameters)
            else:
                denial = assert_denied(client, call.operation, own_parameters)
                is_neighbours_table = table in {silos.table_of(neighbour) for neighbour in NEIGHBOURS}
                is_denied_by_session_policy = not is_neighbours_table and (may_write or not call.writes)
                assert denial["lacking"] == ("session" if is_denied_by_session_policy else "identity-based")
            assert_denied(client, call.operation, call.parameters(table, FOREIGN_FENCE))


@each_table_access
async def test_a_migration_session_is_limited_to_the_same_tables_as_a_tenant_session(
    silos: Silos, table_access: TableAccess
) -> None:
    client, allowed_tables = await silos.migration_client(table_access), silos.expected_tables(table_access)
    for call in CALLS:
        for table in silos.tables:
            (assert_allowed if table in allowed_tables else assert_denied)(
                client, call.operation, call.parameters(table, OWN_FENCE)
            )
            assert_denied(client, call.operation, call.parameters(table, FOREIGN_FENCE))


async def test_a_neighbour_whose_id_continues_ours_reaches_its_own_silo_and_not_ours(silos: Silos) -> None:
    for neighbour in NEIGHBOURS:
        client = await silos.client(TableAccess.SILO, neighbour)
        assert_allowed(client, "PutItem", {"TableName": silos.table_of(neighbour), "Item": key(neighbour)})
        for table in (silos.pool, silos.table_of(TENANT)):
            assert_denied(client, "PutItem", {"TableName": table, "Item": key(neighbour)})
            assert_denied(client, "GetItem", {"TableName": table, "Key": key(TENANT)})


async def test_a_move_writes_both_tables_in_one_transaction_and_reads_them_in_one(silos: Silos) -> None:
    item = {**key(TENANT, "both"), "note": {"S": "kept twice"}}
    tables = (silos.pool, silos.table_of(TENANT))
    client = await silos.client(TableAccess.BOTH)
    assert_allowed(
        client,
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": table, "Item": item}} for table in tables]},
    )
    reads: Any = {"TransactItems": [{"Get": {"TableName": table, "Key": key(TENANT, "both")}} for table in tables]}
    assert [table["Item"] for table in client.transact_get_items(**reads)["Responses"]] == [item, item]
    batch: Any = {"RequestItems": {table: {"Keys": [key(TENANT, "both")]} for table in tables}}
    assert client.batch_get_item(**batch)["Responses"] == {table: [item] for table in tables}


MakeMember = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
TRANSACTION_MEMBERS: Mapping[str, MakeMember] = {
    "a put": lambda table, item: ("TransactItems", {"Put": {"TableName": table, "Item": item}}),
    "a deletion": lambda table, item: ("TransactItems", {"Delete": {"TableName": table, "Key": item}}),
    "a check": lambda table, item: (
        "TransactItems",
        {"ConditionCheck": {"TableName": table, "Key": item, "ConditionExpression": "attribute_not_exists(nothing)"}},
    ),
}


@pytest.mark.parametrize("member_kind", TRANSACTION_MEMBERS)
@pytest.mark.parametrize(
    "foreign_place", ["another's silo", "another's partition of the pool", "another's partition of its own silo"]
)
async def test_one_foreign_item_denies_a_whole_transaction_over_two_tables(
    silos: Silos, member_kind: str, foreign_place: str
) -> None:
    foreign = {
        "another's silo": (silos.table_of(HYPHENATED_NEIGHBOUR), key(TENANT)),
        "another's partition of the pool": (silos.pool, key(LONGER_NEIGHBOUR)),
        "another's partition of its own silo": (silos.table_of(TENANT), key(HYPHENATED_NEIGHBOUR)),
    }[foreign_place]
    name, member = TRANSACTION_MEMBERS[member_kind](*foreign)
    own = [
        {"Put": {"TableName": table, "Item": key(TENANT, "never")}} for table in (silos.pool, silos.table_of(TENANT))
    ]
    client, before = await silos.client(TableAccess.BOTH), silos.items()
    for members in ([*own, member], [member, *own], [own[0], member, own[1]]):
        assert_denied(client, "TransactWriteItems", {name: members})
    assert silos.items() == before


@pytest.mark.parametrize("table_access", [TableAccess.POOL, TableAccess.SILO])
async def test_a_session_for_one_table_cannot_use_two_in_one_call(silos: Silos, table_access: TableAccess) -> None:
    both_tables, client, before = (silos.pool, silos.table_of(TENANT)), await silos.client(table_access), silos.items()
    item = key(TENANT, "never")
    for tables in (both_tables, both_tables[::-1]):
        puts = [{"Put": {"TableName": table, "Item": item}} for table in tables]
        assert_denied(client, "TransactWriteItems", {"TransactItems": puts})
        gets = [{"Get": {"TableName": table, "Key": item}} for table in tables]
        assert_denied(client, "TransactGetItems", {"TransactItems": gets})
        requests = {table: [{"PutRequest": {"Item": item}}] for table in tables}
        assert_denied(client, "BatchWriteItem", {"RequestItems": requests})
        assert_denied(client, "BatchGetItem", {"RequestItems": {table: {"Keys": [item]} for table in tables}})
    assert silos.items() == before


@pytest.mark.parametrize("may_write", [False, True], ids=["reading", "writing"])
async def test_calls_without_a_partition_key_are_denied_in_a_silo_too(silos: Silos, may_write: bool) -> None:
    client = await silos.client(TableAccess.SILO, may_write=may_write)
    for table in silos.tables:
        for scan_options in ({}, {"IndexName": "GSI1"}, {"Segment": 0, "TotalSegments": 2}):
            assert assert_denied(client, "Scan", {"TableName": table, **scan_options})["explicit"]
        assert assert_denied(client, "ExecuteStatement", {"Statement": f'SELECT * FROM "{table}"'})["explicit"]


@each_table_access
async def test_a_suspended_tenants_live_sessions_are_denied_in_its_silo(
    silos: Silos, publish_suspensions: PublishSuspensions, table_access: TableAccess
) -> None:
    clients = [await silos.client(table_access, may_write=may_write) for may_write in (False, True)]
    neighbour = await silos.client(TableAccess.SILO, HYPHENATED_NEIGHBOUR)
    migrator = await silos.migration_client(table_access)
    await publish_suspensions([TENANT])
    for call in CALLS:
        for table in silos.tables:
            for client in clients:
                assert assert_denied(client, call.operation, call.parameters(table, OWN_FENCE))["explicit"]
            if table in silos.expected_tables(table_access):
                assert_allowed(migrator, call.operation, call.parameters(table, OWN_FENCE))
    assert_allowed(
        neighbour, "GetItem", {"TableName": silos.table_of(HYPHENATED_NEIGHBOUR), "Key": key(HYPHENATED_NEIGHBOUR)}
    )
    await publish_suspensions([])
    for table in silos.expected_tables(table_access):
        assert_allowed(clients[0], "GetItem", {"TableName": table, "Key": key(TENANT)})
