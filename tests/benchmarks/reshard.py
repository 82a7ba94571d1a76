"""Measures a tenant that writes five times the limit of a partition, before, during and after a reshard to 8 shards.

The gate has DynamoDB's limits of partitions, the engine is dynoxide. Nothing is tried twice: every write that is turned
away is counted, and apart from them those that this machine was too slow for, which longer phases would show. The loud
tenant writes entries of its journal of 20 KB each, which are 40 units in a transaction.

Run: uv run python -m tests.benchmarks.reshard [--seconds 8] [--units 5000] [--shards 8]
"""

import argparse
import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.app.production import tune_process
from keyfence.domains.activity.activity_log import Activity, ActivityId, ActivityRepository, activities
from keyfence.errors import Throttled
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import JobResources, run_job
from keyfence.jobs.job_store import JobStore
from keyfence.jobs.reshard.reshard_job import ReshardJob
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.settings import TENANT_USE_SECONDS
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.ids import new_id
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.store.tenant_location import LOCATION_EXPIRED
from keyfence.store.writes import put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import TenantId
from tests.engines import shared_cache
from tests.stack import ServiceStack

KILOBYTES = 19
UNITS = 2 * (KILOBYTES + 1)
QUIET_RATE = 10.0
CACHE_SECONDS = 1.0
COLLECTION = "activity"
HEADINGS = ("loud: writes", "throttled", "too slow here", "quiet: writes", "throttled", "too slow here")


@dataclass
class Tenant:
    """A writer with a fixed rate that does not wait for responses."""

    stack: ServiceStack
    id: TenantId
    registry: TenantCache
    rate: float
    phase: str = ""
    sent: Counter[str] = field(default_factory=Counter)
    throttled: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    """Writes that waited so long on this machine that the shard map had expired."""
    kept: set[str] = field(default_factory=set)

    async def run(self, seconds: float, phase: str) -> None:
        self.phase, start, tasks = phase, time.perf_counter(), set[asyncio.Task[None]]()
        for number in range(int(self.rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / self.rate - time.perf_counter()))
            task = asyncio.ensure_future(self._one(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def table(self) -> Table:
        home = self.registry.location(await self.registry.get_active(self.id))
        table = self.stack.tables.for_tenant(home, writes=True)
        return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=1)))

    async def _one(self, number: int) -> None:
        made, phase = _entry(number), self.phase
        self.sent[phase] += 1
        try:
            await (await self.table()).write(put(activities, made))
            self.kept.add(made.id)
        except Throttled as error:
            (self.late if error.message == LOCATION_EXPIRED else self.throttled)[phase] += 1


def _entry(number: int) -> Activity:
    """Uses many customers, so that no customer's own list is hot."""
    now = datetime.now(UTC)
    return Activity(
        id=ActivityId(new_id("act")),
        actor=f"somebody-{number % 64}",
        kind="benchmark.write",
        detail="x" * (KILOBYTES * 1024),
        ttl=int(now.timestamp()) + 86_400,
        created_at=now,
        updated_at=now,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each phase takes")
    parser.add_argument("--units", type=int, default=5000, help="write units a second of the loud tenant")
    parser.add_argument("--shards", type=int, default=8)
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        issuer, limits = (
            DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())),
            PartitionLimits(PartitionRates(burst_seconds=1.0)),
        )
        stack = ServiceStack.start(engine.url, "reshard", issuer, limits)
        try:
            asyncio.run(_run(stack, given))
        finally:
            stack.close()
            engine.stop()


async def _run(stack: ServiceStack, given: argparse.Namespace) -> None:
    tune_process()
    loud, quiet = [
        await _tenant(stack, name, rate) for name, rate in (("loud", given.units / UNITS), ("quiet", QUIET_RATE))
    ]
    await _together(loud, quiet, given.seconds, "1 slot")
    await asyncio.gather(_resharded(stack, loud.id, given.shards), _together(loud, quiet, _settle() + 3, "resharding"))
    await _together(loud, quiet, given.seconds, f"{given.shards} slots")
    _show(loud, quiet)
    for tenant in (loud, quiet):
        print(f"{tenant.id}: {len(tenant.kept):,} acknowledged, {await _listed(tenant):,} of them listed once")


async def _tenant(stack: ServiceStack, name: str, rate: float) -> Tenant:
    registry = TenantCache(stack.tables.for_control_plane(writes=False), max_age_seconds=CACHE_SECONDS)
    return Tenant(stack, await stack.new_tenant(name), registry, rate)


async def _together(loud: Tenant, quiet: Tenant, seconds: float, phase: str) -> None:
    await asyncio.gather(loud.run(seconds, phase), quiet.run(seconds, phase))


def _settle() -> float:
    return CACHE_SECONDS + TENANT_USE_SECONDS + 1


async def _resharded(stack: ServiceStack, tenant: TenantId, shards: int) -> None:
    control = stack.tables.for_control_plane(writes=True)
    tenants, made = TenantRepository(control, "benchmark"), list[Job]()
    await StartReshard(tenants, stack.tables.entities.collections, run_in_background=made.append)(
        tenant, COLLECTION, shards
    )

    means = JobResources(store=JobStore(control), scan=TableScan(control.caller))
    settle = timedelta(seconds=_settle())
    await run_job(
        means,
        made[0].id,
        ReshardJob(
            tenants=tenants, location=_moved, table_at=_moved, settle_time=settle, entities=stack.tables.entities
        ),
    )


def _moved(_: object) -> Any:
    raise AssertionError("growing moves nothing")


def _show(loud: Tenant, quiet: Tenant) -> None:
    print(f"{'':<14}" + "".join(f"{one:>18}" for one in HEADINGS))
    for phase in loud.sent:
        columns = []
        for tenant in (loud, quiet):
            sent, away = tenant.sent[phase], tenant.throttled[phase]
            columns += [f"{sent:,}", f"{away:,} ({away / sent:.2%})", f"{tenant.late[phase]:,}"]
        print(f"{phase:<14}" + "".join(f"{one:>18}" for one in columns))


async def _listed(tenant: Tenant) -> int:
    listed, after = Counter[str](), None
    table = await tenant.table()
    table = replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=20)))
    while True:
        page = await ActivityRepository(table).latest(first=100, after=after)
        listed.update(one.id for one in page.items)
        if not page.has_next:
            return sum(listed[id] == 1 for id in tenant.kept)
        after = page.edges[-1].cursor()


if __name__ == "__main__":
    main()
