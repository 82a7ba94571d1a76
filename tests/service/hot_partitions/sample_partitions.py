"""Tenants and partitions that the tests of hot partitions use."""

from datetime import UTC, datetime

from keyfence.hot_partitions.partition_load import TenantPartition
from keyfence_iam.tenant import TenantId

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
START = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()


def open_orders(shard: str = "00", tenant: TenantId = ACME) -> TenantPartition:
    return TenantPartition(tenant, "GSI2", f"TENANT#{tenant}#tag#OPEN#{shard}")
