"""`OffboardJob`: exports and purges all items of a tenant, one step at a time, and saves the state after each step."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import structlog

from keyfence.errors import Conflict
from keyfence.jobs.job_runner import JobRun, complete_before_cancel
from keyfence.jobs.offboard.certificate import CertificateSigner, certificate_path, sign_certificate
from keyfence.jobs.offboard.export_file import ExportDamaged, ExportFile, sync_directory
from keyfence.jobs.offboard.export_pass import ExportPass, IndexCheck, PurgePass, verify_export
from keyfence.jobs.offboard.offboarding_phases import (
    OffboardingHalted,
    OffboardingPhase,
    OffboardingState,
    can_restart_export,
    job_changes,
    next_round,
    restart_export,
    start_round,
    state_of,
)
from keyfence.jobs.offboard.tenant_erasure import TenantErasure
from keyfence.store.table import Table
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId

MAX_ROUNDS = 10
"""How many rounds one run may take until a round finds no items."""

log = structlog.get_logger(__name__)

Step = Callable[[OffboardingState], Awaitable[OffboardingState]]
"""A function that receives the stored state, does the work of its phase, and returns the next state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardJob:
    """The program of an offboarding. It ends when the tables contain no items of the tenant."""

    tenants: TenantRepository
    suspensions: SuspensionPublisher
    table_in: Callable[[TenantId, Placement], Table]
    """Makes a handle of the shared table or of the tenant's own table, with credentials for this tenant only."""
    drop_silo: Callable[[TenantId], Awaitable[None]]
    """Deletes the tenant's own table. Does nothing if there is none."""
    export_directory: Path
    signer: CertificateSigner
    settle_time: timedelta
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None

    async def __call__(self, run: JobRun) -> None:
        file = ExportFile(self.export_directory / state_of(run.job).export_name)
        file.open()
        try:
            await _OffboardRun(self, run, file).run_steps()
        finally:
            file.close()


@dataclass(slots=True)
class _OffboardRun:
    """One run of the program, with its export file open. A step has no effect after the lease is lost."""

    program: OffboardJob
    run: JobRun
    file: ExportFile
    has_restarted_export: bool = False
    tenants: TenantRepository = field(init=False)
    steps: Mapping[OffboardingPhase, Step] = field(init=False)
    _tables: dict[Placement, Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tenants = self.program.tenants
        self.tenants = replace(tenants, table=self.run.lease.guard(tenants.table))
        export = ExportPass(self.run, self._table, self.file)
        self.steps = {
            OffboardingPhase.SUSPENDING: self._suspend,
            OffboardingPhase.SETTLING: self._settle,
            OffboardingPhase.EXPORTING: export.process_page,
            OffboardingPhase.VERIFYING_EXPORT: export.verify,
            OffboardingPhase.PURGING: PurgePass(self.run, self._table, self.file).purge_batch,
            OffboardingPhase.VERIFYING_INDEXES: IndexCheck(self.run, self._table).process_page,
            OffboardingPhase.DROPPING_TABLE: self._drop_table,
            OffboardingPhase.CERTIFYING: self._certify,
            OffboardingPhase.ERASING_EVENTS: self._erase_events,
        }

    async def run_steps(self) -> None:
        first_round = self.run.job.round
        while (state := state_of(self.run.job)).phase is not OffboardingPhase.FINISHING:
            self.run.check_stop()
            if state.phase is OffboardingPhase.SETTLING:
                await self._step(state)  # a wait may be cancelled in the middle
            else:
                await complete_before_cancel(self._step(state))
            if self.run.job.round - first_round >= MAX_ROUNDS:
                raise Conflict(f"new items of {state.tenant} keep appearing; find out what writes them, then resume")
        await self._finish(state)

    def _table(self, state: OffboardingState) -> Table:
        """Returns a handle of the table that is being emptied. Its calls fail after the lease is lost."""
        if state.placement not in self._tables:
            table = self.program.table_in(state.tenant, state.placement)
            self._tables[state.placement] = self.run.lease.guard(table)
        return self._tables[state.placement]

    async def _step(self, state: OffboardingState) -> None:
        failpoint = self.run.resources.failpoint
        failpoint(f"before {state.phase}")
        try:
            after = await self.steps[state.phase](state)
        except OffboardingHalted as halted:
            await self._save(halted.state)
            raise halted.error from halted
        except ExportDamaged as damage:
            after = self._restart_export(state, damage)
        failpoint(f"after {state.phase}")
        await self._save(after)
        failpoint(f"saved {state.phase}")

    async def _save(self, state: OffboardingState) -> None:
        await self.run.save(**job_changes(state))

    def _restart_export(self, state: OffboardingState, damage: ExportDamaged) -> OffboardingState:
        """Returns the state in which the damaged export is written again.

        Raises `damage` if items are already purged. Raises it also at the second damage in one run, because then the
        disk cannot be trusted."""
        if self.has_restarted_export or not can_restart_export(state):
            raise damage
        self.has_restarted_export = True
        log.warning("export_restarted", export=state.export_name, reason=damage.message)
        return replace(restart_export(state), export_uri=self._export_uri())

    def _export_uri(self) -> str:
        return self.file.path.resolve().as_uri()

    async def _suspend(self, state: OffboardingState) -> OffboardingState:
        """Makes IAM deny the tenant's sessions, and notes which table has its items.

        The table stays the same, since a tenant that is being offboarded cannot be moved."""
        self.run.lease.check()
        await self.program.suspensions.publish()
        placement = (await self.tenants.get(state.tenant)).placement
        located = replace(state, placement=placement, phase=OffboardingPhase.SETTLING, export_uri=self._export_uri())
        silo = self._table(located).caller.table if placement is Placement.SILO else None
        return replace(located, silo_table=silo)

    async def _settle(self, state: OffboardingState) -> OffboardingState:
        """Waits for the whole settle time, until no server acts on the tenant as it was before."""
        await self.run.wait(self.program.settle_time)
        return start_round(state)

    async def _drop_table(self, state: OffboardingState) -> OffboardingState:
        _require_all_purged(state, "the table is not deleted")
        self.run.lease.check()
        await self.program.drop_silo(state.tenant)
        self.run.resources.failpoint("dropped")
        return next_round(replace(state, placement=Placement.POOL, table_items=None))

    async def _certify(self, state: OffboardingState) -> OffboardingState:
        _require_all_purged(state, "the offboarding is not certified")
        digest = await asyncio.to_thread(verify_export, state, self.file)
        resources = self.run.resources
        text = sign_certificate(
            self.run.job, state, digest, resources.scan.caller.table, resources.store.now(), self.program.signer
        )
        return replace(state, certificate=text, phase=OffboardingPhase.ERASING_EVENTS)

    async def _erase_events(self, state: OffboardingState) -> OffboardingState:
        """Writes the certificate to its file, and then erases the details of the tenant's events."""
        self.run.lease.check()
        path = certificate_path(self.program.export_directory, state.export_name)
        await asyncio.to_thread(_write_atomically, path, state.certificate or "")
        self.run.resources.failpoint("certificate written")
        await TenantErasure(self.tenants).erase_event_details(state.tenant)
        return replace(state, phase=OffboardingPhase.FINISHING)

    async def _finish(self, state: OffboardingState) -> None:
        failpoint = self.run.resources.failpoint
        failpoint(f"before {state.phase}")
        detail = {"job": self.run.job.id, "exported": state.exported_count, "purged": state.purged_count}
        self.program.on_tenant_changed(await TenantErasure(self.tenants).finish(state.tenant, detail))
        failpoint(f"after {state.phase}")


def _require_all_purged(state: OffboardingState, consequence: str) -> None:
    """Raises Conflict, with the consequence, if not every exported item is purged."""
    if state.exported_count != state.purged_count:
        raise Conflict(f"{state.exported_count:,} items were exported and {state.purged_count:,} purged: {consequence}")


def _write_atomically(path: Path, text: str) -> None:
    """Writes a private file under another name, and renames it when its content is complete on the disk."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise Conflict(f"the certificate {path} cannot be written: {error.strerror or error}") from error
    sync_directory(path.parent)
