"""The offboarding program; erasure of the register's details; the bounded run inside a request."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from keyfence.errors import Conflict, KeyfenceError, NotFound
from keyfence.jobs.lease import Jobs
from keyfence.jobs.offboard.certificate import CertificateSigner, certificate, certificate_file
from keyfence.jobs.offboard.export_file import ExportDamaged, ExportFile, digest_export, sync_directory
from keyfence.jobs.offboard.export_pass import (
    ExportPass,
    IndexCheck,
    OffboardingHalted,
    PurgePass,
    check,
    check_pool_next,
    replaceable,
    restart_export,
    start_round,
)
from keyfence.jobs.offboard.start import OffboardingPhase, OffboardingProgress, OffboardingState, StartOffboarding
from keyfence.store import timestamps
from keyfence.store.dynamodb.flow_control import Pacer
from keyfence.store.expressions import UpdateExpression, equals
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.store.writes import Write, delete, update_attributes
from keyfence.tenancy.access_patterns import events, events_of_tenant, identities
from keyfence.tenancy.quotas import NO_OVERRIDES
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Placement, Tenant, TenantStatus, check_transition
from keyfence_iam.tenant import TenantId

NOTHING = "{}"
OURS = frozenset({"tenant.offboarding", "tenant.offboarded"})
"""Events whose details are about the offboarding."""


@dataclass(frozen=True, slots=True)
class TenantErasure:
    """Each part of it can be repeated."""

    register: TenantRepository

    async def erase_event_details(self, id: TenantId) -> None:
        """That something happened, when and by whom stays; names, reasons and issuers do not."""
        told = [one async for one in self.register.table.iterate_shards(events_of_tenant, tenant=id)]
        for event in told:
            if event.kind not in OURS and event.detail != NOTHING:
                blank = UpdateExpression(sets={("detail",): NOTHING})
                await self.register.table.write(update_attributes(events, {"tenant": id, "id": event.id}, blank))

    async def finish(self, id: TenantId, detail: dict[str, object]) -> Tenant:
        """The issuer is free from then on, and the id never is."""

        async def also() -> Sequence[Write[Any]]:
            return await self._freed(await self.register.get(id))

        return await self.register.change(id, "tenant.offboarded", tombstone, detail=detail, also=also)

    async def _freed(self, tenant: Tenant) -> Sequence[Write[Any]]:
        identity = await self.register.find_identity(tenant.issuer) if tenant.issuer else None
        if identity is None or identity.tenant != tenant.id:
            return ()
        return (delete(identities, {"digest": identity.digest}, when=equals("tenant", tenant.id)),)


def tombstone(tenant: Tenant) -> Tenant:
    if tenant.status is TenantStatus.OFFBOARDED:
        return tenant
    check_transition(tenant.status, TenantStatus.OFFBOARDED)
    return replace(
        tenant,
        name=tenant.id,
        status=TenantStatus.OFFBOARDED,
        issuer="",
        owner_id="",
        request="",
        placement=Placement.POOL,
        overrides=NO_OVERRIDES,
        shards={},
        reason=None,
        stored_bytes=0,
    )


MOST_ROUNDS = 10
PURGED_TOGETHER = 100
NAP = 5.0

Step = Callable[[OffboardingState], Awaitable[OffboardingState]]

log = structlog.get_logger(__name__)


def never() -> bool:
    return False


def nothing(_: object) -> None:
    """Nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardResources:
    """What the worker works with, which only the migrator has."""

    register: TenantRepository
    suspensions: SuspensionPublisher
    sweep: TableScan
    as_tenant: Callable[[TenantId, Placement], Table]
    """At the one table or at the other."""
    drop: Callable[[TenantId], Awaitable[None]]
    """The table of its own; called again, it does nothing."""
    exports: Path
    signer: CertificateSigner
    settle: timedelta
    """How long after the fence was shut a server may still write."""
    rate: float
    """Units a second, of reads as of writes."""
    page: int | None = None
    """How many items are scanned, or purged, from one checkpoint to the next; about a second's worth if None."""
    now: Callable[[], datetime] = timestamps.utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    seam: Callable[[str], None] = nothing
    """Called between any two things that could be torn apart."""
    tell: Callable[[OffboardingState], None] = nothing

    def table(self, job: OffboardingState) -> Table:
        """Where the job is at."""
        return self.as_tenant(job.tenant, job.placement)

    def swept(self, job: OffboardingState) -> TableScan:
        return replace(self.sweep, caller=replace(self.sweep.caller, table=self.table(job).caller.table))


@dataclass(slots=True)
class Worker:
    """Does one step at a time, each from the job alone, and keeps the job after each."""

    means: OffboardResources
    jobs: Jobs = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.means.register.table, now=self.means.now)

    async def run(self, tenant: TenantId, *, stop: Callable[[], bool] = never) -> OffboardingState:
        """Until the tenant is gone, or until it is told to stop, which is heard between steps."""
        if (found := await self.jobs.find(tenant)) is None:
            raise NotFound("nobody has asked for this tenant to be offboarded")
        if found.phase is OffboardingPhase.FINISHED:
            return found
        async with self._taken(found) as job:
            work = OffboardJob(self.means, self.jobs, job)
            await work.until(stop)
            return work.job

    @asynccontextmanager
    async def _taken(self, job: OffboardingState) -> AsyncIterator[OffboardingState]:
        taken = await self.jobs.take(job)
        try:
            yield taken
        finally:
            await self._released(taken)

    async def _released(self, taken: OffboardingState) -> None:
        """Whoever comes next need not wait; where that fails, the lease ends by itself."""
        with suppress(KeyfenceError):
            last = await self.jobs.find(taken.tenant)
            if last and last.worker == self.jobs.worker:
                await self.jobs.release(last)


@dataclass(slots=True)
class OffboardJob:
    """One worker at one job, with its file in hand."""

    means: OffboardResources
    jobs: Jobs
    job: OffboardingState
    repaired: bool = False
    file: ExportFile = field(init=False)
    steps: Mapping[OffboardingPhase, Step] = field(init=False)

    def __post_init__(self) -> None:
        means = self.means
        self.file = ExportFile(means.exports / self.job.export)
        reads, page = Pacer(means.rate), means.page or max(1, int(means.rate))
        exporting = ExportPass(means.swept, self.file, reads, page)
        purging = PurgePass(means.table, self.file, Pacer(means.rate), min(page, PURGED_TOGETHER))
        self.steps = {
            OffboardingPhase.SHUTTING: self._shut,
            OffboardingPhase.WAITING: self._wait,
            OffboardingPhase.EXPORTING: exporting.page,
            OffboardingPhase.PROVING: exporting.prove,
            OffboardingPhase.PURGING: purging.some,
            OffboardingPhase.VERIFYING: IndexCheck(means.swept, reads, page, means.sleep).page,
            OffboardingPhase.DROPPING: self._drop,
            OffboardingPhase.CERTIFYING: self._certify,
            OffboardingPhase.SCRUBBING: self._scrub,
            OffboardingPhase.FINISHING: self._finish,
        }

    async def until(self, stop: Callable[[], bool]) -> None:
        first = self.job.round
        self.file.open()
        try:
            while self.job.phase is not OffboardingPhase.FINISHED and not stop():
                await self._step()
                if self.job.round - first >= MOST_ROUNDS:
                    raise Conflict(f"items of {self.job.tenant} keep coming; find out who writes them")
        finally:
            self.file.close()

    async def _step(self) -> None:
        means, phase = self.means, self.job.phase
        means.seam(f"before {phase}")
        try:
            done = await self.steps[phase](self.job)
        except OffboardingHalted as halted:
            await self._keep(halted.job)
            raise halted.error from halted
        except ExportDamaged as damage:
            done = self._anew(damage)
        means.seam(f"after {phase}")
        await self._keep(done)
        means.seam(f"kept {phase}")

    def _anew(self, damage: ExportDamaged) -> OffboardingState:
        """Once: a disk that damages everything will not be trusted the second time."""
        if self.repaired or not replaceable(self.job):
            raise damage
        self.repaired = True
        log.warning("export_made_again", export=self.job.export, why=damage.message)
        return replace(restart_export(self.job), uri=self._uri())

    def _uri(self) -> str:
        return self.file.path.resolve().as_uri()

    async def _keep(self, job: OffboardingState) -> None:
        self.job = await self.jobs.keep(self.job, job)
        self.means.tell(self.job)

    async def _shut(self, job: OffboardingState) -> OffboardingState:
        await self.means.suspensions.publish()
        settled = self.means.now() + self.means.settle
        return replace(await self._placed(job), phase=OffboardingPhase.WAITING, uri=self._uri(), settled_at=settled)

    async def _placed(self, job: OffboardingState) -> OffboardingState:
        """For good: who leaves is not moved any more."""
        placed = replace(job, placement=(await self.means.register.get(job.tenant)).placement)
        own = placed.placement is Placement.SILO
        return replace(placed, silo=self.means.table(placed).caller.table if own else None)

    async def _wait(self, job: OffboardingState) -> OffboardingState:
        left = ((job.settled_at or self.means.now()) - self.means.now()).total_seconds()
        if left <= 0:
            return start_round(job)
        await self.means.sleep(min(left, NAP))
        return job

    async def _drop(self, job: OffboardingState) -> OffboardingState:
        if job.lines != job.purged:
            raise Conflict(f"{job.lines:,} items were exported and {job.purged:,} purged: the table must stay")
        await self.means.drop(job.tenant)
        self.means.seam("dropped")
        return check_pool_next(job)

    async def _certify(self, job: OffboardingState) -> OffboardingState:
        await asyncio.to_thread(check, job, self.file)
        if job.lines != job.purged:
            raise Conflict(f"{job.lines:,} items were exported and {job.purged:,} purged: this must not be certified")
        found = await asyncio.to_thread(digest_export, self.file.path, job.export)
        ended = replace(job, finished_at=self.means.now())
        text = certificate(ended, found, self.means.sweep.caller.table, self.means.signer)
        return replace(ended, certificate=text, phase=OffboardingPhase.SCRUBBING)

    async def _scrub(self, job: OffboardingState) -> OffboardingState:
        await asyncio.to_thread(_write, certificate_file(self.means.exports, job.export), job.certificate or "")
        self.means.seam("certificate written")
        await TenantErasure(self.means.register).erase_event_details(job.tenant)
        return replace(job, phase=OffboardingPhase.FINISHING)

    async def _finish(self, job: OffboardingState) -> OffboardingState:
        detail = {"job": job.id, "exported": job.lines, "purged": job.purged}
        await TenantErasure(self.means.register).finish(job.tenant, detail)
        return replace(job, phase=OffboardingPhase.FINISHED)


def _write(path: Path, text: str) -> None:
    """It has its name only when it is whole."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise Conflict(f"the certificate {path} cannot be written: {error.strerror or error}") from error
    sync_directory(path.parent)


SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class OffboardWithinRequest:
    """Whoever asks again goes on; the answer says how far it has come."""

    begin: StartOffboarding
    means: OffboardResources
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic

    async def __call__(self, id: TenantId, confirm: str) -> OffboardingProgress:
        begun = await self.begin(id, confirm)
        if begun.job.phase is OffboardingPhase.FINISHED:
            return begun
        end = self.clock() + self.seconds
        job = await Worker(self.means).run(id, stop=lambda: self.clock() >= end)
        tenant = await self.begin.register.get(id)
        self.begin.told(tenant)
        return OffboardingProgress(tenant=tenant, job=job)
