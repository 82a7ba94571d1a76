"""Seconds and times that are moved by hand, and places to count at."""

from datetime import UTC, datetime

from keyfence.hot_partitions.partition_load import Partition
from keyfence_iam.tenant import TenantId

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
START = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()


def open_orders(slot: str = "00", tenant: TenantId = ACME) -> Partition:
    return Partition(tenant, "GSI2", f"TENANT#{tenant}#OPEN#{slot}")
