"""Rekey jobs in tests: their resources, and tenants whose items have no index keys or wrong ones."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import users
from keyfence.domains.users.model import User, UserId
from keyfence.jobs.job_programs import rekey_program
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import JobResources, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.rekey.rekey_job import new_rekey_job
from keyfence.store.codec import Item
from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.fences import tenant_fence
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import OPERATOR, all_items, items_of, put_items

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
INDEXED = ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")


def job_resources(migrator: MigratorAccess, time: ManualClock, **changes: Any) -> JobResources:
    job = migrator.job_resources(units_per_second=5.0)
    records = replace(job.store, now=time.datetime)
    return replace(job, **{"store": records, "sleep": time.sleep, "units_per_second": None, **changes})


async def rekeyed(migrator: MigratorAccess, job_resources: JobResources, tenant: TenantId | None, **asked: Any) -> Job:
    job = await job_resources.store.add(
        new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR, now=job_resources.store.now, **asked)
    )
    return await run_job(job_resources, job.id, rekey_program(migrator))


def user(number: int) -> User:
    return User(
        id=UserId(f"usr_{number:026}"),
        email=f"user{number}@example.com",
        name=f"User {number}",
        role=Role.MEMBER,
        created_at=BEGAN,
        updated_at=BEGAN,
    )


def right_items(tenant: TenantId, count: int, shards: ShardMap = UNSHARDED) -> list[Item]:
    fence = tenant_fence(tenant)
    return [users.to_item(user(number), fence, shards) for number in range(count)]


def without_keys(items: Sequence[Item]) -> list[Item]:
    """Returns the items without their index keys."""
    return [{name: value for name, value in item.items() if name not in INDEXED} for item in items]


def fill_unkeyed(stack: ServiceStack, tenant: TenantId, count: int) -> list[Item]:
    """Puts users without index keys into the engine. Returns them with the keys that they should get."""
    right = right_items(tenant, count)
    put_items(stack, without_keys(right))
    return sorted(right, key=lambda item: item["PK"]["S"])


def users_of(stack: ServiceStack, tenant: TenantId) -> list[Any]:
    return [item for item in items_of(all_items(stack), tenant) if item.get("type") == {"S": "User"}]


def record(stack: ServiceStack, tenant: TenantId) -> dict[str, Any]:
    """Returns the newest job of the tenant."""
    mine = [item for item in all_items(stack) if item.get("type") == {"S": "Job"} and item["tenant"]["S"] == tenant]
    newest: dict[str, Any] = max(mine, key=lambda item: str(item["id"]["S"]), default={})
    return {name: int(value["N"]) if "N" in value else value.get("S") for name, value in newest.items()}
