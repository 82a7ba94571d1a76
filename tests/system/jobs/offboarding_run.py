"""Offboardings in tests: sample items, a worker that runs the job, and reads of the table from the engine."""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyfence.app.command_connections import connect_migrator
from keyfence.app.local_development import aws_access
from keyfence.jobs.job_programs import ExportTarget, program_for
from keyfence.jobs.job_record import Job, JobId
from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import CertificateSigner
from keyfence.jobs.offboard.offboard_job import OffboardJob
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState, job_changes, state_of
from keyfence.jobs.offboard.start_offboarding import OffboardingProgress, StartOffboarding
from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import PublishSuspensions, SuspensionPublisher
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.failures.crashing_client import Crash
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack

OPERATOR = "an-operator"
KEY = CertificateSigner(Ed25519PrivateKey.from_private_bytes(b"k" * 32))
START = datetime(2026, 11, 16, 8, tzinfo=UTC)


@dataclass(slots=True)
class CrashingProcess:
    """A process that crashes before or after one of its calls, or at one of the points that a job reports.

    None of its later calls is sent."""

    client: DynamoDb
    at: int | None = None
    places: list[str] = field(default_factory=list)

    def place(self, name: str) -> None:
        if not self.crashed:
            self.places.append(name)
        if self.crashed:
            raise Crash

    @property
    def crashed(self) -> bool:
        return self.at is not None and len(self.places) > self.at

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.place(f"asking {operation}")
        answer = await self.client.call(operation, parameters, credentials)
        self.place(f"answered {operation}")
        return answer

    def close(self) -> None: ...


def with_client(migrator: MigratorAccess, client: DynamoDb) -> MigratorAccess:
    return replace(migrator, tables=replace(migrator.tables, client=client))


@contextmanager
def connect_as_migrator(stack: ServiceStack, **changes: float) -> Iterator[MigratorAccess]:
    with connect_migrator(aws_access(stack.settings.model_copy(update=changes), stack.gate.session_issuer)) as access:
        yield access


@dataclass(frozen=True, slots=True, kw_only=True)
class Offboarder:
    """Offboards tenants as the migrator, on a clock that only sleep moves. Each run is another worker's."""

    migrator: MigratorAccess
    exports: Path
    time: ManualClock
    resources: Mapping[str, Any] = field(default_factory=dict)
    publish_suspensions: PublishSuspensions

    @property
    def tenants(self) -> TenantRepository:
        return TenantRepository(self.migrator.control, OPERATOR, now=self.time.datetime)

    @property
    def suspensions(self) -> SuspensionPublisher:
        return SuspensionPublisher(self.migrator.control, self.publish_suspensions, now=self.time.datetime)

    def store(self, **changes: Any) -> JobRepository:
        return JobRepository(self.migrator.control, now=self.time.datetime, **changes)

    def with_resources(self, **changes: Any) -> "Offboarder":
        return replace(self, resources={**self.resources, **changes})

    async def find_job(self, tenant: TenantId) -> Job | None:
        found = await self.tenants.find(tenant)
        return await self.store().find(JobId(found.offboarding_job_id)) if found and found.offboarding_job_id else None

    async def job(self, tenant: TenantId) -> Job:
        job = await self.find_job(tenant)
        assert job, f"{tenant} has no offboarding"
        return job

    async def state(self, tenant: TenantId) -> OffboardingState:
        return state_of(await self.job(tenant))

    async def set_state(self, tenant: TenantId, **changes: Any) -> None:
        job = await self.job(tenant)
        after = replace(state_of(job), **changes)
        await self.store().save(job, replace(job, finished_at=None, **job_changes(after)))
        await self.time.sleep(61)

    async def run(self, tenant: TenantId, store: JobRepository | None = None, **changes: Any) -> OffboardingState:
        job = await self.job(tenant)
        resources = replace(
            self.migrator.job_resources(units_per_second=1_000_000.0),
            store=store or self.store(),
            **{"sleep": self.time.sleep, **self.resources, **changes},
        )
        program = program_for(job, self.migrator, ExportTarget(self.exports, KEY))
        assert isinstance(program, OffboardJob)
        tenants, suspensions = replace(program.tenants, now=self.time.datetime), self.suspensions
        await run_job(resources, job.id, replace(program, tenants=tenants, suspensions=suspensions))
        return await self.state(tenant)


def offboarder(
    migrator: MigratorAccess,
    exports: Path,
    time: ManualClock,
    on_state: Callable[[OffboardingState], None] | None = None,
    **resources: Any,
) -> Offboarder:
    made = Offboarder(
        migrator=migrator,
        exports=exports,
        time=time,
        resources=resources,
        publish_suspensions=migrator.publish_suspensions,
    )
    return watched(made, on_state) if on_state else made


def watched(worker: Offboarder, on_state: Callable[[OffboardingState], None]) -> Offboarder:
    return worker.with_resources(on_progress=lambda job: on_state(state_of(job)))


def without_iam(worker: Offboarder) -> Offboarder:
    """Returns a worker that does not call IAM, for tests that offboard a hundred times. Other tests cover IAM."""

    async def publish(_: Sequence[TenantId]) -> None: ...

    return replace(worker, publish_suspensions=publish)


async def begin(worker: Offboarder, tenant: TenantId, confirm: str | None = None) -> OffboardingProgress:
    start = StartOffboarding(worker.tenants, worker.suspensions, now=worker.time.datetime)
    return await start(tenant, confirm or tenant)


async def offboard(worker: Offboarder, tenant: TenantId) -> OffboardingState:
    await begin(worker, tenant)
    return await worker.run(tenant)


def fill(
    stack: ServiceStack, tenant: TenantId, count: int, *, text: str = "the word of {tenant}", indexed: int | None = None
) -> None:
    """Puts items into the engine. The first `indexed` of them, or all, have keys of up to three indexes."""
    spoken, most = text.format(tenant=tenant), count if indexed is None else indexed
    put_items(stack, [_item(tenant, at, spoken, at % 4 if at < most else 0) for at in range(count)])


def put_items(stack: ServiceStack, items: list[Item]) -> None:
    client, table = stack.engine_client(), stack.settings.table
    for chunk in _batched(items, 100):
        client.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": item}} for item in chunk])


def delete_items(stack: ServiceStack, *, keep: TenantId | None = None) -> None:
    """Deletes all items of the table but those of one tenant, so that each crash starts from the same table."""
    client, table = stack.engine_client(), stack.settings.table
    prefix = tenant_key_prefix(keep) if keep else None
    items = [item for item in all_items(stack) if prefix is None or not item["PK"]["S"].startswith(prefix)]
    for chunk in _batched(items, 100):
        keys = [{"PK": item["PK"], "SK": item["SK"]} for item in chunk]
        client.transact_write_items(TransactItems=[{"Delete": {"TableName": table, "Key": key}} for key in keys])


def _batched(items: list[Item], size: int) -> Iterator[list[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _item(tenant: TenantId, at: int, text: str, indexes: int) -> Item:
    prefix = tenant_key_prefix(tenant)
    item: Item = {
        "PK": {"S": f"{prefix}THING#{at:05}"},
        "SK": {"S": "METADATA"},
        "name": {"S": f"{text} {at}"},
        "count": {"N": "1234567890123456789012345.678"},
        "flags": {"SS": ["a", "b"]},
        "nested": {"M": {"list": {"L": [{"BOOL": True}, {"NULL": True}, {"B": "AAECAw=="}]}}},
    }
    for number in (1, 2, 3)[:indexes]:
        item |= {f"GSI{number}PK": {"S": f"{prefix}LIST#{at % 5}"}, f"GSI{number}SK": {"S": f"{at:05}"}}
    return item


def all_items(stack: ServiceStack, index: str | None = None) -> list[Any]:
    """Returns all items of the table, or of an index, from the engine."""
    place: Any = {"IndexName": index} if index else {}
    pages = stack.engine_client().get_paginator("scan").paginate(TableName=stack.settings.table, **place)
    return [item for page in pages for item in page["Items"]]


def items_of(items: list[Any], tenant: TenantId) -> list[Any]:
    own = [item for item in items if item["PK"]["S"].startswith(tenant_key_prefix(tenant))]
    return sorted(own, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


async def run_until(worker: Offboarder, tenant: TenantId, phase: OffboardingPhase) -> OffboardingState:
    """Starts an offboarding, and stops it after the first progress in a phase."""
    await begin(worker, tenant)
    at: list[OffboardingState] = []

    def reached() -> bool:
        return (
            bool(at)
            and at[-1].phase is phase
            and (at[-1].purged_count if phase is OffboardingPhase.PURGING else at[-1].export_size) > 0
        )

    job = await watched(worker, at.append).run(tenant, should_stop=reached)
    assert job.phase is phase
    return job


def exported_items(exports: Path, job: OffboardingState) -> list[Any]:
    with gzip.open(exports / job.export_name) as content:
        return [orjson.loads(line)["item"] for line in content]


def sorted_items(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
