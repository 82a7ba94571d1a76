"""Only the migrator creates, changes and deletes silos. The gate limits a silo's partitions apart from the pool's."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence.app.domain_loading import load_domains
from keyfence.store.dynamodb.table_definition import table_definition
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId, tenant_of_key
from tests.isolation.silo_sessions import TENANT, Silos, key, open_silos
from tests.stack import ServiceStack

THROTTLED = "ProvisionedThroughputExceededException"
OTHER_ROLES = ("service-base", "control-plane", "stream-worker", "suspender", "provisioner")


@pytest.fixture(scope="module")
def silo_tables(stack: ServiceStack) -> Iterator[Silos]:
    with open_silos(stack) as tables:
        yield tables


@pytest.fixture
def limits(stack: ServiceStack) -> Iterator[PartitionLimits]:
    stack.gate.limits = PartitionLimits(group_of=tenant_of_key, now=lambda: 1000.0)
    yield stack.gate.limits
    stack.gate.limits = None


def error_code(call: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as error:
        call()
    return str(error.value.response["Error"]["Code"])


def table_changes(client: Any, table: str) -> dict[str, Callable[[], Any]]:
    """Returns all calls that create, change or delete a table."""
    no_expiry: Any = {"Enabled": False, "AttributeName": "ttl"}
    no_backups: Any = {"PointInTimeRecoveryEnabled": False}
    return {
        "create": lambda: client.create_table(**table_definition(table, load_domains().entities.projections)),
        "update": lambda: client.update_table(TableName=table, StreamSpecification={"StreamEnabled": False}),
        "update time to live": lambda: client.update_time_to_live(TableName=table, TimeToLiveSpecification=no_expiry),
        "update backups": lambda: client.update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification=no_backups
        ),
        "delete": lambda: client.delete_table(TableName=table),
    }


def test_the_migrator_can_create_and_delete_a_silo(silo_tables: Silos) -> None:
    silo = silo_tables.admin(f"{silo_tables.pool}-silo-temporary")
    assert silo.create()
    assert not silo.create(), "creating the silo again changes nothing"
    assert silo.differences() == []
    silo.client.delete_table(TableName=silo.table)
    assert silo.differences() == ["it does not exist"]


def test_the_migrator_may_not_change_or_delete_the_pool_or_tables_with_similar_names(
    silo_tables: Silos, stack: ServiceStack
) -> None:
    client, engine = silo_tables.admin(silo_tables.pool).client, stack.engine_client()
    before = engine.describe_table(TableName=silo_tables.pool)["Table"]
    for table in (
        silo_tables.pool,
        f"{silo_tables.pool}-silo",
        f"{silo_tables.pool}-silos-x",
        f"x{silo_tables.pool}-silo-x",
    ):
        assert {name: error_code(call) for name, call in table_changes(client, table).items()} == dict.fromkeys(
            table_changes(client, table), "AccessDeniedException"
        )
    after = engine.describe_table(TableName=silo_tables.pool)["Table"]
    assert (after["TableStatus"], after["StreamSpecification"]) == ("ACTIVE", before["StreamSpecification"])


@pytest.mark.parametrize("role", OTHER_ROLES)
def test_other_roles_may_not_create_change_or_delete_a_silo(silo_tables: Silos, role: str) -> None:
    silo = silo_tables.table_of(TENANT)
    client = silo_tables.admin(silo, role).client
    assert {error_code(call) for call in table_changes(client, silo).values()} == {"AccessDeniedException"}
    assert error_code(lambda: client.scan(TableName=silo)) == "AccessDeniedException"


@pytest.mark.parametrize("may_write", [False, True], ids=["reading", "writing"])
async def test_a_tenant_may_not_change_its_own_silo(silo_tables: Silos, may_write: bool) -> None:
    client = await silo_tables.client(TableAccess.BOTH, may_write=may_write)
    assert {error_code(call) for call in table_changes(client, silo_tables.table_of(TENANT)).values()} == {
        "AccessDeniedException"
    }


async def test_the_migrator_may_scan_a_silo_but_not_read_or_write_single_items(
    silo_tables: Silos, stack: ServiceStack
) -> None:
    silo, names = silo_tables.table_of(TENANT), [f"segment-{number}" for number in range(20)]
    for name in names:
        stack.engine_client().put_item(TableName=silo, Item=key(TENANT, name))
    client = stack.role_boto_client("migrator")
    segments = [client.scan(TableName=silo, Segment=segment, TotalSegments=4)["Items"] for segment in range(4)]
    scanned_names = [item["PK"]["S"].rpartition("#")[2] for items in segments for item in items]
    assert sorted(name for name in scanned_names if name.startswith("segment-")) == sorted(names)
    for index in ("GSI1", "GSI2", "GSI3"):
        assert client.scan(TableName=silo, IndexName=index)["Items"] == []
    assert error_code(lambda: client.get_item(TableName=silo, Key=key(TENANT))) == "AccessDeniedException"
    assert error_code(lambda: client.put_item(TableName=silo, Item=key(TENANT))) == "AccessDeniedException"


def exhaust(limits: PartitionLimits, table: str, partition: str) -> None:
    units = limits.rates.write * limits.rates.burst_seconds + 1
    limits.buckets.take([PartitionUnits(Partition(table, None, partition), "write", units)])


async def test_an_exhausted_partition_of_the_pool_does_not_throttle_the_same_partition_of_the_silo(
    silo_tables: Silos, limits: PartitionLimits
) -> None:
    silo, client = silo_tables.table_of(TENANT), await silo_tables.client(TableAccess.BOTH)
    item = key(TENANT, "full")
    exhaust(limits, silo_tables.pool, item["PK"]["S"])
    assert error_code(lambda: client.put_item(TableName=silo_tables.pool, Item=item)) == THROTTLED
    client.put_item(TableName=silo, Item=item)
    exhaust(limits, silo, item["PK"]["S"])
    assert error_code(lambda: client.put_item(TableName=silo, Item=item)) == THROTTLED


async def test_a_transaction_on_both_tables_is_charged_to_both_and_cancelled_if_one_is_exhausted(
    silo_tables: Silos, limits: PartitionLimits
) -> None:
    tables, client = (silo_tables.pool, silo_tables.table_of(TENANT)), await silo_tables.client(TableAccess.BOTH)
    item = key(TENANT, "charged")
    puts: Any = [{"Put": {"TableName": table, "Item": item}} for table in tables]
    client.transact_write_items(TransactItems=puts)
    report = limits.traffic_report()
    rows = [row for row in report["partitions"] if row["key"] == item["PK"]["S"]]
    write_units = {row["table"]: row["write"] * report["seconds"] for row in rows}
    assert write_units == dict.fromkeys(tables, pytest.approx(2))
    assert [row["partitions"] for row in report["groups"] if row["group"] == TENANT] == [2]
    exhaust(limits, tables[1], item["PK"]["S"])
    with pytest.raises(ClientError) as error:
        client.transact_write_items(TransactItems=puts)
    reasons = [reason["Code"] for reason in error.value.response["CancellationReasons"]]
    assert reasons == ["None", "ProvisionedThroughputExceeded"]


async def test_a_silo_that_is_deleted_without_the_gate_does_not_remove_the_limits_of_the_pool(
    silo_tables: Silos, stack: ServiceStack, limits: PartitionLimits
) -> None:
    deleted_tenant, item = TenantId("deleted"), key(TENANT, "still-limited")
    silo_tables.admin(silo_tables.table_of(deleted_tenant)).create()
    pool = await silo_tables.client(TableAccess.POOL)
    pool.put_item(TableName=silo_tables.pool, Item=item)
    stack.gate.limits = None
    (await silo_tables.client(TableAccess.SILO, deleted_tenant)).put_item(
        TableName=silo_tables.table_of(deleted_tenant), Item=key(deleted_tenant)
    )
    stack.engine_client().delete_table(TableName=silo_tables.table_of(deleted_tenant))
    stack.gate.limits = limits
    exhaust(limits, silo_tables.pool, item["PK"]["S"])
    assert error_code(lambda: pool.put_item(TableName=silo_tables.pool, Item=item)) == THROTTLED
