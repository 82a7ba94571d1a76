"""Silos as the migrator makes, scans and removes them, and as the gate keeps their partitions apart from the pool's."""

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

EXCEEDED = "ProvisionedThroughputExceededException"
ROLES = ("service-base", "control-plane", "stream-worker", "suspender", "provisioner")


@pytest.fixture(scope="module")
def beside(stack: ServiceStack) -> Iterator[Silos]:
    with open_silos(stack) as made:
        yield made


@pytest.fixture
def limits(stack: ServiceStack) -> Iterator[PartitionLimits]:
    stack.gate.limits = PartitionLimits(group_of=tenant_of_key, now=lambda: 1000.0)
    yield stack.gate.limits
    stack.gate.limits = None


def code(act: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as refusal:
        act()
    return str(refusal.value.response["Error"]["Code"])


def changes(client: Any, table: str) -> dict[str, Callable[[], Any]]:
    """Every call that makes, changes or removes a table."""
    off: Any = {"Enabled": False, "AttributeName": "ttl"}
    unkept: Any = {"PointInTimeRecoveryEnabled": False}
    return {
        "create": lambda: client.create_table(**table_definition(table, load_domains().entities.projections)),
        "update": lambda: client.update_table(TableName=table, StreamSpecification={"StreamEnabled": False}),
        "expire": lambda: client.update_time_to_live(TableName=table, TimeToLiveSpecification=off),
        "unkeep": lambda: client.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=unkept),
        "delete": lambda: client.delete_table(TableName=table),
    }


def test_a_silo_is_the_table_that_the_definition_says_and_is_gone_when_removed(beside: Silos) -> None:
    made = beside.admin(f"{beside.pool}-silo-passing")
    assert made.create()
    assert not made.create(), "to do it again changes nothing"
    assert made.differences() == []
    made.client.delete_table(TableName=made.table)
    assert made.differences() == ["it does not exist"]


def test_the_migrator_neither_changes_nor_removes_the_pool_nor_a_table_besides(
    beside: Silos, stack: ServiceStack
) -> None:
    client, engine = beside.admin(beside.pool).client, stack.engine_client()
    before = engine.describe_table(TableName=beside.pool)["Table"]
    for table in (beside.pool, f"{beside.pool}-silo", f"{beside.pool}-silos-x", f"x{beside.pool}-silo-x"):
        assert {name: code(act) for name, act in changes(client, table).items()} == dict.fromkeys(
            changes(client, table), "AccessDeniedException"
        )
    after = engine.describe_table(TableName=beside.pool)["Table"]
    assert (after["TableStatus"], after["StreamSpecification"]) == ("ACTIVE", before["StreamSpecification"])


@pytest.mark.parametrize("role", ROLES)
def test_nobody_else_makes_changes_or_removes_a_silo(beside: Silos, role: str) -> None:
    silo = beside.table_of(TENANT)
    client = beside.admin(silo, role).client
    assert {code(act) for act in changes(client, silo).values()} == {"AccessDeniedException"}
    assert code(lambda: client.scan(TableName=silo)) == "AccessDeniedException"


@pytest.mark.parametrize("writes", [False, True], ids=["reading", "writing"])
async def test_a_tenant_does_not_change_its_own_silo(beside: Silos, writes: bool) -> None:
    client = await beside.client(TableAccess.BOTH, writes=writes)
    assert {code(act) for act in changes(client, beside.table_of(TENANT)).values()} == {"AccessDeniedException"}


async def test_the_migrator_scans_a_silo_in_segments_and_reads_no_item_of_it_by_its_key(
    beside: Silos, stack: ServiceStack
) -> None:
    silo, names = beside.table_of(TENANT), [f"segment-{number}" for number in range(20)]
    for name in names:
        stack.engine_client().put_item(TableName=silo, Item=key(TENANT, name))
    client = stack.role_boto_client("migrator")
    segments = [client.scan(TableName=silo, Segment=one, TotalSegments=4)["Items"] for one in range(4)]
    found = [item["PK"]["S"].rpartition("#")[2] for items in segments for item in items]
    assert sorted(one for one in found if one.startswith("segment-")) == sorted(names)
    for index in ("GSI1", "GSI2", "GSI3"):
        assert client.scan(TableName=silo, IndexName=index)["Items"] == []
    assert code(lambda: client.get_item(TableName=silo, Key=key(TENANT))) == "AccessDeniedException"
    assert code(lambda: client.put_item(TableName=silo, Item=key(TENANT))) == "AccessDeniedException"


def exhaust(limits: PartitionLimits, table: str, partition: str) -> None:
    units = limits.rates.write * limits.rates.burst_seconds + 1
    limits.buckets.take([PartitionUnits(Partition(table, None, partition), "write", units)])


async def test_a_full_partition_of_the_pool_leaves_the_same_partition_of_the_silo_open(
    beside: Silos, limits: PartitionLimits
) -> None:
    silo, client = beside.table_of(TENANT), await beside.client(TableAccess.BOTH)
    item = key(TENANT, "full")
    exhaust(limits, beside.pool, item["PK"]["S"])
    assert code(lambda: client.put_item(TableName=beside.pool, Item=item)) == EXCEEDED
    client.put_item(TableName=silo, Item=item)
    exhaust(limits, silo, item["PK"]["S"])
    assert code(lambda: client.put_item(TableName=silo, Item=item)) == EXCEEDED


async def test_a_transaction_over_both_tables_is_charged_to_each_and_cancelled_where_one_is_full(
    beside: Silos, limits: PartitionLimits
) -> None:
    both, client = (beside.pool, beside.table_of(TENANT)), await beside.client(TableAccess.BOTH)
    item = key(TENANT, "charged")
    members: Any = [{"Put": {"TableName": table, "Item": item}} for table in both]
    client.transact_write_items(TransactItems=members)
    seen = limits.traffic_report()
    told = {one["table"]: one["write"] * seen["seconds"] for one in seen["partitions"] if one["key"] == item["PK"]["S"]}
    assert told == dict.fromkeys(both, pytest.approx(2))
    assert [one["partitions"] for one in seen["groups"] if one["group"] == TENANT] == [2]
    exhaust(limits, both[1], item["PK"]["S"])
    with pytest.raises(ClientError) as refusal:
        client.transact_write_items(TransactItems=members)
    reasons = [one["Code"] for one in refusal.value.response["CancellationReasons"]]
    assert reasons == ["None", "ProvisionedThroughputExceeded"]


async def test_a_silo_that_goes_behind_the_gates_back_does_not_lift_the_limits_of_the_pool(
    beside: Silos, stack: ServiceStack, limits: PartitionLimits
) -> None:
    gone, item = TenantId("gone"), key(TENANT, "still-limited")
    beside.admin(beside.table_of(gone)).create()
    pool = await beside.client(TableAccess.POOL)
    pool.put_item(TableName=beside.pool, Item=item)
    stack.gate.limits = None
    (await beside.client(TableAccess.SILO, gone)).put_item(TableName=beside.table_of(gone), Item=key(gone))
    stack.engine_client().delete_table(TableName=beside.table_of(gone))
    stack.gate.limits = limits
    exhaust(limits, beside.pool, item["PK"]["S"])
    assert code(lambda: pool.put_item(TableName=beside.pool, Item=item)) == EXCEEDED
