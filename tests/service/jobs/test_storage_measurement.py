"""Storage is counted for the tenant that the partition key of an item names."""

import pytest

from keyfence.jobs.storage_measurement import StorageTotals, TenantStorage
from keyfence.store.scan import tenant_of_partition


@pytest.mark.parametrize(
    ("partition", "owner"),
    [
        ("TENANT#acme#USER#1", "acme"),
        ("TENANT#a1#X", "a1"),
        ("TENANT#a10#X", "a10"),
        ("TENANT#acme#TENANT#globex#X", "acme"),
        ("CONTROL#TENANT#acme", None),
        ("TENANT#", None),
        ("TENANT##X", None),
        ("TENANT#Acme#X", None),
        ("tenant#acme#X", None),
    ],
)
def test_a_partition_key_names_the_tenant_that_owns_the_partition(partition: str, owner: str | None) -> None:
    assert tenant_of_partition(partition) == owner


def test_items_and_bytes_are_counted_for_each_tenant_separately() -> None:
    totals = StorageTotals()
    for partition in ("TENANT#a1#X", "TENANT#a10#X", "TENANT#a10#Y", "CONTROL#SUSPENSIONS"):
        totals.add({"PK": {"S": partition}, "SK": {"S": ""}})
    storage = totals.by_tenant()
    assert {tenant: one.items for tenant, one in storage.items()} == {"a1": 1, "a10": 2}
    assert storage[next(iter(storage))] == TenantStorage(1, 100 + 2 + 11 + 2)
