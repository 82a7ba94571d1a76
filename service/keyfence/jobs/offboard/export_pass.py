"""The three scans of an offboarding, page by page: export items, purge them, and look into every index."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

import structlog

from keyfence.errors import Conflict, Internal
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.offboard.export_file import (
    ExportDamaged,
    ExportDigest,
    ExportFile,
    chain_lines,
    digest_export,
    initial_hash,
    items,
    key_of,
)
from keyfence.jobs.offboard.offboarding_state import OffboardingPhase, OffboardingState
from keyfence.jobs.scan_checkpoint import encode_key
from keyfence.jobs.scan_pass import paced_scan
from keyfence.store.codec import Item
from keyfence.store.entity import INDEXES, Index
from keyfence.store.job_writes import delete_items
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.tenancy.placement import Placement

INDEX_LAG_SECONDS = 2.0
"""An index shows a deletion a moment after the table does."""
PURGE_BATCH = 100

log = structlog.get_logger(__name__)

TableOf = Callable[[OffboardingState], Table]


class OffboardingHalted(Exception):
    """The job cannot continue until an operator has corrected something. It resumes from `state`."""

    def __init__(self, state: OffboardingState, error: Conflict) -> None:
        super().__init__(error.message)
        self.state = state
        self.error = error


@dataclass(frozen=True, slots=True)
class ExportPass:
    """Appends the tenant's items to the export file. A round that finds none shows that the table is empty."""

    run: JobRun
    table_of: TableOf
    file: ExportFile

    async def process_page(self, state: OffboardingState) -> OffboardingState:
        fence = Fence.for_tenant(state.tenant)
        scan = paced_scan(self.run, self.table_of(state).caller.table)
        page = await scan.page(fence=fence, resume_key=state.resume_key)
        own = [item for item in page.items if fence.contains(item["PK"]["S"])]
        chain_hash, lines = chain_lines(state.chain_hash, own)
        size = await asyncio.to_thread(self.file.append, state.export_size, lines) if own else state.export_size
        written = replace(
            state,
            resume_key=encode_key(page.next_key),
            scanned=state.scanned + page.scanned,
            found=state.found + len(own),
            strays=state.strays + _log_strays([item["PK"]["S"] for item in page.items if item not in own]),
            exported=state.exported + len(own),
            export_size=size,
            chain_hash=chain_hash,
        )
        return written if page.next_key else _end_of_export(replace(written, table_items=written.scanned))

    async def verify(self, state: OffboardingState) -> OffboardingState:
        """Reads the file back, so that nothing is purged that cannot be read from the disk."""
        await asyncio.to_thread(verify_export, state, self.file)
        return replace(state, phase=OffboardingPhase.PURGING)


def start_round(state: OffboardingState) -> OffboardingState:
    return replace(
        state, phase=OffboardingPhase.EXPORTING, index="table", resume_key=None, scanned=0, found=0, strays=0
    )


def next_round(state: OffboardingState) -> OffboardingState:
    return replace(start_round(state), round=state.round + 1)


def can_restart_export(state: OffboardingState) -> bool:
    """Tells whether all exported items are still in the table, so that a damaged export can be written again."""
    return state.round == 1 and state.phase in {OffboardingPhase.EXPORTING, OffboardingPhase.VERIFYING_EXPORT}


def restart_export(state: OffboardingState) -> OffboardingState:
    return replace(start_round(state), exported=0, export_size=0, chain_hash=initial_hash(state.export))


def verify_export(state: OffboardingState, file: ExportFile) -> ExportDigest:
    """Reads the whole file. Raises ExportDamaged if it is not what the state says."""
    file.append(state.export_size, b"")
    digest = digest_export(file.path, state.export)
    if (digest.lines, digest.chain_hash, digest.size) != (state.exported, state.chain_hash, state.export_size):
        raise ExportDamaged(
            f"{file.path} is not the export that was written: only {digest.lines:,} lines are right", line=None
        )
    return digest


def _end_of_export(state: OffboardingState) -> OffboardingState:
    if state.found:
        return replace(state, phase=OffboardingPhase.VERIFYING_EXPORT)
    if state.strays:
        raise OffboardingHalted(
            next_round(state),
            Conflict(
                f"{state.strays:,} items of other tenants are among this tenant's in an index; correct the items "
                "that the log names as stray_in_index, then resume the job"
            ),
        )
    return replace(state, phase=OffboardingPhase.VERIFYING_INDEXES, index=INDEXES[0], scanned=0)


def _log_strays(partitions: list[str]) -> int:
    for partition in partitions:
        log.error("stray_in_index", partition=partition)
    return len(partitions)


@dataclass(slots=True)
class PurgePass:
    """Deletes exactly the items of the export file. An item that was not exported is found by the next round."""

    run: JobRun
    table_of: TableOf
    file: ExportFile
    _items: Iterator[tuple[str, bytes]] | None = None
    _position: int = 0

    async def purge_batch(self, state: OffboardingState) -> OffboardingState:
        keys = await asyncio.to_thread(self._next_keys, state)
        if not keys:
            raise Internal(f"{state.export} ends before line {state.exported}")
        await self.run.pacer.wait(await delete_items(self.table_of(state), keys))
        purged = replace(state, purged=state.purged + len(keys))
        return purged if purged.purged < state.exported else next_round(purged)

    def _next_keys(self, state: OffboardingState) -> list[Item]:
        """The file stays open between batches. A worker that starts in the middle verifies the file first."""
        if self._items is None or self._position != state.purged:
            verify_export(state, self.file)
            self._items = islice(items(self.file.path, state.export), state.purged, None)
        count = min(self.run.page_size, PURGE_BATCH, state.exported - state.purged)
        keys = [key_of(text) for _, text in islice(self._items, count)]
        self._position = state.purged + len(keys)
        return keys


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """Scans every index. If an item is found, the job returns to the table, which can be read consistently."""

    run: JobRun
    table_of: TableOf

    async def process_page(self, state: OffboardingState) -> OffboardingState:
        index = cast("Index", state.index)
        scan = paced_scan(self.run, self.table_of(state).caller.table)
        page = await scan.page(fence=Fence.for_tenant(state.tenant), index=index, resume_key=state.resume_key)
        scanned = replace(
            state,
            resume_key=encode_key(page.next_key),
            scanned=state.scanned + page.scanned,
            found=state.found + len(page.items),
        )
        return scanned if page.next_key else await self._end_of_index(scanned, index)

    async def _end_of_index(self, state: OffboardingState, index: Index) -> OffboardingState:
        if state.found:
            await self.run.resources.sleep(INDEX_LAG_SECONDS)
            return next_round(state)
        if index != INDEXES[-1]:
            return replace(state, index=INDEXES[INDEXES.index(index) + 1])
        in_silo = state.placement is Placement.SILO
        return replace(state, phase=OffboardingPhase.DROPPING_TABLE if in_silo else OffboardingPhase.CERTIFYING)
