"""Measures a tenant that writes five times the limit of a partition, before, during and after a reshard to 8 shards.

The gate has DynamoDB's limits of partitions, and the engine is dynoxide. No write is retried. The output counts the
writes that were throttled and, in another column, those for which this machine was too slow. The loud tenant writes
activities of 20 KB, each of which costs 40 write units in a transaction.

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

from keyfence.app.process_tuning import tune_process
from keyfence.domains.activity.activity_log import Activity, ActivityId, ActivityRepository, activities
from keyfence.errors import Throttled
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.job_runner import JobResources, run_job
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
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from keyfence_iam.tenant import TenantId
from tests.engines import shared_cache
from tests.stack import ServiceStack

DETAIL_KILOBYTES = 19
UNITS_PER_WRITE = 2 * (DETAIL_KILOBYTES + 1)
"""An activity has one kilobyte more than its detail. A transaction doubles the units."""
QUIET_WRITES_PER_SECOND = 10.0
CACHE_SECONDS = 1.0
COLLECTION = "activity"
HEADINGS = ("loud: writes", "throttled", "too slow here", "quiet: writes", "throttled", "too slow here")


@dataclass
class Tenant:
    """A tenant that writes at a fixed rate and does not wait for responses. Counters are by phase."""

    stack: ServiceStack
    id: TenantId
    tenant_cache: TenantCache
    rate: float
    phase: str = ""
    sent: Counter[str] = field(default_factory=Counter)
    throttled: Counter[str] = field(default_factory=Counter)
    expired: Counter[str] = field(default_factory=Counter)
    """Writes that waited on this machine until their tenant location had expired."""
    acknowledged: set[str] = field(default_factory=set)

    async def run(self, seconds: float, phase: str) -> None:
        self.phase, start, tasks = phase, time.perf_counter(), set[asyncio.Task[None]]()
        for number in range(int(self.rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / self.rate - time.perf_counter()))
            task = asyncio.ensure_future(self._write_one(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def table(self) -> Table:
        location = self.tenant_cache.location(await self.tenant_cache.get_active(self.id))
        table = self.stack.tables.for_tenant(location, may_write=True)
        return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=1)))

    async def _write_one(self, number: int) -> None:
        activity, phase = _activity(number), self.phase
        self.sent[phase] += 1
        try:
            await (await self.table()).write(put(activities, activity))
            self.acknowledged.add(activity.id)
        except Throttled as error:
            counter = self.expired if error.message == LOCATION_EXPIRED else self.throttled
            counter[phase] += 1


def _activity(number: int) -> Activity:
    """Returns an activity of one of 64 people, so that the list of no single person is hot."""
    now = datetime.now(UTC)
    return Activity(
        id=ActivityId(new_id("act")),
        actor=f"somebody-{number % 64}",
        kind="benchmark.write",
        detail="x" * (DETAIL_KILOBYTES * 1024),
        ttl=int(now.timestamp()) + 86_400,
        created_at=now,
        updated_at=now,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each phase takes")
    parser.add_argument("--units", type=int, default=5000, help="write units a second of the loud tenant")
    parser.add_argument("--shards", type=int, default=8)
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        issuer, limits = (
            DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())),
            PartitionLimits(PartitionRates(burst_seconds=1.0)),
        )
        stack = ServiceStack.start(engine.url, "reshard", issuer, limits)
        try:
            asyncio.run(_run(stack, arguments))
        finally:
            stack.close()
            engine.stop()


async def _run(stack: ServiceStack, arguments: argparse.Namespace) -> None:
    tune_process()
    loud, quiet = [
        await _tenant(stack, name, rate)
        for name, rate in (("loud", arguments.units / UNITS_PER_WRITE), ("quiet", QUIET_WRITES_PER_SECOND))
    ]
    await _write_together(loud, quiet, arguments.seconds, "1 shard")
    await asyncio.gather(
        _reshard(stack, loud.id, arguments.shards), _write_together(loud, quiet, _settle_seconds() + 3, "resharding")
    )
    await _write_together(loud, quiet, arguments.seconds, f"{arguments.shards} shards")
    _print_table(loud, quiet)
    for tenant in (loud, quiet):
        listed = await _count_listed_once(tenant)
        print(f"{tenant.id}: {len(tenant.acknowledged):,} acknowledged, {listed:,} of them listed once")


async def _tenant(stack: ServiceStack, name: str, rate: float) -> Tenant:
    tenant_cache = TenantCache(stack.tables.for_control_plane(may_write=False), max_age_seconds=CACHE_SECONDS)
    return Tenant(stack, await stack.new_tenant(name), tenant_cache, rate)


async def _write_together(loud: Tenant, quiet: Tenant, seconds: float, phase: str) -> None:
    await asyncio.gather(loud.run(seconds, phase), quiet.run(seconds, phase))


def _settle_seconds() -> float:
    """Returns the time after which no server uses the old number of shards."""
    return CACHE_SECONDS + TENANT_USE_SECONDS + 1


async def _reshard(stack: ServiceStack, tenant: TenantId, shards: int) -> None:
    control = stack.tables.for_control_plane(may_write=True)
    tenants, started_jobs = TenantRepository(control, "benchmark"), list[Job]()
    await StartReshard(tenants, stack.tables.entities.collections, run_in_background=started_jobs.append)(
        tenant, COLLECTION, shards
    )

    resources = JobResources(store=JobRepository(control), scan=TableScan(control.caller))
    settle = timedelta(seconds=_settle_seconds())
    await run_job(
        resources,
        started_jobs[0].id,
        ReshardJob(
            tenants=tenants,
            location=_unexpected_move,
            table_at=_unexpected_move,
            settle_time=settle,
            entities=stack.tables.entities,
        ),
    )


def _unexpected_move(_: object) -> Any:
    raise AssertionError("growing moves nothing")


def _print_table(loud: Tenant, quiet: Tenant) -> None:
    print(f"{'':<14}" + "".join(f"{one:>18}" for one in HEADINGS))
    for phase in loud.sent:
        columns = []
        for tenant in (loud, quiet):
            sent, throttled = tenant.sent[phase], tenant.throttled[phase]
            columns += [f"{sent:,}", f"{throttled:,} ({throttled / sent:.2%})", f"{tenant.expired[phase]:,}"]
        print(f"{phase:<14}" + "".join(f"{one:>18}" for one in columns))


async def _count_listed_once(tenant: Tenant) -> int:
    """Returns how many acknowledged activities the list has exactly once."""
    listed, after = Counter[str](), None
    table = await tenant.table()
    table = replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=20)))
    while True:
        page = await ActivityRepository(table).latest(first=100, after=after)
        listed.update(one.id for one in page.items)
        if not page.has_next:
            return sum(listed[id] == 1 for id in tenant.acknowledged)
        after = page.edges[-1].cursor()


if __name__ == "__main__":
    main()
