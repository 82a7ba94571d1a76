"""Measures a move of a tenant to its silo table and back: seconds, DynamoDB calls and items of each phase.

The engine is dynoxide on an empty directory. The tenant has the demo shop of acme with 100 orders, about 1,200 items.
The gate has DynamoDB's limits of partitions, as in `keyfence dev`. Each move runs once without other writers, and once
while clients of one server write at a fixed rate. At the end the benchmark reads all customers that were acknowledged.
The settle time is 6 s by default, so that the waits do not hide the other phases. With `--dev-settings` it is that of
`keyfence dev`, 26 s, and the whole run takes about nine minutes.

Run: uv run python -m tests.benchmarks.tenant_move [--writes-per-second 10] [--rate 1000] [--dev-settings]
"""

import argparse
import asyncio
import itertools
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from keyfence import log
from keyfence.app.local_development import with_local_timeout
from keyfence.jobs.job_programs import program_for
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.start_move import StartMove
from keyfence.local.demo.load import write_shop
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.store import timestamps
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence_iam.credentials import Credentials
from keyfence_iam.dynamodb.capacity import consumed_total
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import TenantId
from tests.engines import shared_cache
from tests.stack import ApiClient, ServiceStack
from tests.system.jobs.move_run import connect_mover
from tests.system.jobs.offboarding_run import with_client

SHORT_SETTLE = {"tenant_cache_seconds": 0.5, "tenant_use_seconds": 1.5, "read_timeout_seconds": 3.0}
"""Settings with a settle time of six seconds. A request may still take 1.5 s, because the machine can be busy."""

CREATE = "mutation($input: CreateCustomerInput!) { createCustomer(input: $input) { id } }"
UPDATE = "mutation($id: ID!, $input: UpdateCustomerInput!) { updateCustomer(id: $id, input: $input) { id } }"
COUNT_VIEW = "mutation($id: ID!) { countProductView(id: $id) }"
FIND = "query($id: ID!) { customer(id: $id) { id } }"


@dataclass
class Phase:
    """What the job did in one phase."""

    seconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    units: float = 0.0
    """The capacity units that the calls consumed."""
    items_scanned: int = 0


@dataclass
class PhaseRecorder:
    """A DynamoDB client of the job that counts calls by the job's current phase."""

    client: DynamoDb
    phases: dict[str, Phase] = field(default_factory=dict)
    current: str = "STARTED"
    started_at: float = field(default_factory=time.perf_counter)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        phase = self.phases.setdefault(self.current, Phase())
        phase.calls[operation] += 1
        try:
            answer = await self.client.call(operation, parameters, credentials)
        except DynamoDbError as error:
            phase.errors[error.code] += 1
            raise
        phase.units += consumed_total(answer.get("ConsumedCapacity"))
        return answer

    def on_progress(self, job: Job) -> None:
        now = time.perf_counter()
        phase = self.phases.setdefault(self.current, Phase())
        phase.seconds += now - self.started_at
        self.started_at, self.current = now, job.phase
        if not job.phase.endswith("-SETTLING"):
            self.phases.setdefault(job.phase, Phase()).items_scanned = job.items_scanned

    def close(self) -> None: ...


@dataclass
class Writers:
    """Clients of one server that create and change customers and count views, at a fixed rate."""

    client: ApiClient
    products: Sequence[str]
    rate: float
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    acknowledged: list[str] = field(default_factory=list)
    results: Counter[str] = field(default_factory=Counter)

    @asynccontextmanager
    async def in_background(self) -> AsyncIterator[None]:
        stopped = asyncio.Event()
        task = asyncio.ensure_future(self._write_until(stopped))
        try:
            yield
        finally:
            stopped.set()
            await task

    async def _write_until(self, stopped: asyncio.Event) -> None:
        tasks = set[asyncio.Task[None]]()
        while not stopped.is_set():
            task = asyncio.ensure_future(self._write(next(self.numbers)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(1 / self.rate)
        await asyncio.gather(*tasks)

    async def _write(self, number: int) -> None:
        query, variables = self._request(number)
        answer = await self.client.execute(query, **variables)
        errors = answer.get("errors") or ()
        self.results.update([error["extensions"]["code"] for error in errors] or ["acknowledged"])
        if query == CREATE and not errors:
            self.acknowledged.append(answer["data"]["createCustomer"]["id"])

    def _request(self, number: int) -> tuple[str, dict[str, Any]]:
        if number % 3 == 1 and self.acknowledged:
            id = self.acknowledged[number // 2 % len(self.acknowledged)]
            return UPDATE, {"id": id, "input": {"name": f"Renamed {number}"}}
        if number % 3 == 2:
            return COUNT_VIEW, {"id": self.products[number % len(self.products)]}
        return CREATE, {"input": {"name": f"Customer {number}", "email": f"{number}@x.example"}}

    async def count_missing(self) -> int:
        found = [(await self.client.data(FIND, id=id))["customer"] for id in self.acknowledged]
        return sum(customer is None for customer in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes-per-second", type=float, default=10.0, help="requests a second of the writers")
    parser.add_argument("--rate", type=float, default=1000.0, help="capacity units a second that the move may use")
    parser.add_argument("--dev-settings", action="store_true", help="the settle time of `keyfence dev`, 26 s")
    parser.add_argument("--orders", type=int, default=100, help="orders of each tenant; an order has about ten items")
    parser.add_argument("--others", type=int, default=1, help="other tenants of the same size in the shared table")
    arguments = parser.parse_args()
    with _running_stack() as stack, Path(os.devnull).open("w") as no_log:
        log.configure(as_json=True, file=no_log)
        asyncio.run(_measure(stack, arguments))


@contextmanager
def _running_stack() -> Iterator[ServiceStack]:
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        issuer = DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()))
        stack = ServiceStack.start(engine.url, "moves", issuer, PartitionLimits())
        try:
            yield stack
        finally:
            stack.close()
            engine.stop()


async def _measure(stack: ServiceStack, arguments: argparse.Namespace) -> None:
    demo = TENANTS["acme"]
    shop = ShopData(replace(demo, shop=replace(demo.shop, order_count=arguments.orders)), timestamps.utc_now())
    tenant, *_ = [await _tenant_with_shop(stack, shop) for _ in range(1 + arguments.others)]
    changes = {} if arguments.dev_settings else SHORT_SETTLE
    settings = with_local_timeout(stack.settings.model_copy(update=changes))
    client = replace(stack.api_client(tenant), application=stack.serve(settings=settings))
    writers = Writers(client, [record.product.id for record in shop.products()], arguments.writes_per_second)
    print(f"settle time: {settings.settle_seconds:g} s")
    with connect_mover(stack, **changes) as mover:
        for to in (Placement.SILO, Placement.POOL):
            await _move_and_print(mover.migrator, tenant, to, arguments.rate, "without writers")
        async with writers.in_background():
            for to in (Placement.SILO, Placement.POOL):
                await _move_and_print(mover.migrator, tenant, to, arguments.rate, "with writers")
    missing = await writers.count_missing()
    print(f"\nwriters: {dict(writers.results)}; {missing} of {len(writers.acknowledged)} created customers are missing")


async def _tenant_with_shop(stack: ServiceStack, shop: ShopData) -> TenantId:
    tenant = await stack.new_tenant()
    await write_shop(stack.table(tenant), shop)
    return tenant


async def _move_and_print(migrator: MigratorAccess, tenant: TenantId, to: Placement, rate: float, title: str) -> None:
    recorder = PhaseRecorder(migrator.tables.client)
    migrator = with_client(migrator, recorder)
    resources = replace(migrator.job_resources(units_per_second=rate), on_progress=recorder.on_progress)
    job = await StartMove(TenantRepository(migrator.control, "benchmark"))(tenant, to)
    finished = await run_job(resources, job.id, program_for(job, migrator))
    print(f"\nto {to}, {title}: {finished.items_changed:,} items copied")
    print(f"{'phase':<20}{'seconds':>9}{'calls':>7}{'items':>8}{'units':>8}  calls by operation; errors")
    for name, phase in recorder.phases.items():
        _print_row(name, phase)
    settling = sum(phase.seconds for name, phase in recorder.phases.items() if name.endswith("-SETTLING"))
    total = sum(phase.seconds for phase in recorder.phases.values())
    calls = sum(phase.calls.total() for phase in recorder.phases.values())
    print(f"{'total':<20}{total:>9.1f}{calls:>7,}{'':>16}  of which {settling:.1f} s are settle waits")


def _print_row(name: str, phase: Phase) -> None:
    operations = ", ".join(f"{operation} {count}" for operation, count in phase.calls.most_common())
    errors = ", ".join(f"{code} {count}" for code, count in phase.errors.most_common())
    columns = f"{phase.seconds:>9.2f}{phase.calls.total():>7,}{phase.items_scanned:>8,}{phase.units:>8,.0f}"
    print(f"{name:<20}{columns}  {operations}{'; ' if errors else ''}{errors}")


if __name__ == "__main__":
    main()
