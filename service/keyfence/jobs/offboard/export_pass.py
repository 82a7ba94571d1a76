"""The steps of an offboarding that go through items: export them, purge them, and search every index for more."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

import structlog

from keyfence.errors import Internal
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.offboard.export_file import (
    ExportDamaged,
    ExportDigest,
    ExportFile,
    chain_lines,
    digest_export,
    key_of,
    read_lines,
)
from keyfence.jobs.offboard.offboarding_phases import (
    OffboardingPhase,
    OffboardingState,
    after_export_scan,
    after_index_scan,
    next_round,
)
from keyfence.jobs.scan_checkpoint import encode_key
from keyfence.jobs.scan_pass import paced_scan
from keyfence.store.codec import Item
from keyfence.store.entity import Index
from keyfence.store.job_writes import delete_items
from keyfence.store.keys import Fence
from keyfence.store.table import Table

INDEX_LAG_SECONDS = 2.0
"""How long to wait before a new round, since an index shows a deletion a moment after the table does."""

MAX_PURGE_BATCH = 100
"""The most items that are deleted between two saves of the state."""

log = structlog.get_logger(__name__)

TableFor = Callable[[OffboardingState], Table]
"""A function that returns a handle of the table that is being emptied."""


@dataclass(frozen=True, slots=True)
class ExportPass:
    """Appends the tenant's items to the export file.

    A complete scan of the table that finds no items shows that the table contains no items of this tenant."""

    run: JobRun
    table_for: TableFor
    file: ExportFile

    async def process_page(self, state: OffboardingState) -> OffboardingState:
        fence = Fence.for_tenant(state.tenant)
        scan = paced_scan(self.run, self.table_for(state).caller.table)
        page = await scan.page(fence=fence, resume_key=state.resume_key)
        items = [item for item in page.items if fence.contains(item["PK"]["S"])]
        strays = [item["PK"]["S"] for item in page.items if not fence.contains(item["PK"]["S"])]
        chain_hash, lines = chain_lines(state.chain_hash, items)
        size = await asyncio.to_thread(self.file.append, state.export_size, lines) if items else state.export_size
        written = replace(
            state,
            resume_key=encode_key(page.next_key),
            scanned_count=state.scanned_count + page.scanned_count,
            found_count=state.found_count + len(items),
            stray_count=state.stray_count + _log_strays(strays),
            exported_count=state.exported_count + len(items),
            export_size=size,
            chain_hash=chain_hash,
        )
        return written if page.next_key else after_export_scan(replace(written, table_items=written.scanned_count))

    async def verify(self, state: OffboardingState) -> OffboardingState:
        """Reads the file back. An item is purged only if its line can be read from the disk."""
        await asyncio.to_thread(verify_export, state, self.file)
        return replace(state, phase=OffboardingPhase.PURGING)


def verify_export(state: OffboardingState, file: ExportFile) -> ExportDigest:
    """Reads the whole file, and returns its digest. Raises ExportDamaged if the digest differs from the state."""
    file.append(state.export_size, b"")
    digest = digest_export(file.path, state.export_name)
    if (digest.lines, digest.chain_hash, digest.size) != (state.exported_count, state.chain_hash, state.export_size):
        raise ExportDamaged(
            f"{file.path} is not the export that was written: it has {digest.lines:,} correct lines, and "
            f"{state.exported_count:,} were written",
            line=None,
        )
    return digest


def _log_strays(partitions: list[str]) -> int:
    """Logs the partition of each item that belongs to another tenant. Returns the number of these items."""
    for partition in partitions:
        log.error("stray_in_index", partition=partition)
    return len(partitions)


@dataclass(slots=True)
class PurgePass:
    """Deletes exactly the items of the export file. The next round exports items that were written meanwhile."""

    run: JobRun
    table_for: TableFor
    file: ExportFile
    _lines: Iterator[tuple[str, bytes]] | None = None
    """The lines that are not purged yet, each with its hash."""
    _position: int = 0
    """How many lines were read from the file."""

    async def purge_batch(self, state: OffboardingState) -> OffboardingState:
        keys = await asyncio.to_thread(self._next_keys, state)
        if not keys:
            raise Internal(f"the export {state.export_name} ends before its last line, {state.exported_count:,}")
        await self.run.pacer.wait(await delete_items(self.table_for(state), keys))
        after = replace(state, purged_count=state.purged_count + len(keys))
        return after if after.purged_count < after.exported_count else next_round(after)

    def _next_keys(self, state: OffboardingState) -> list[Item]:
        """Returns the keys of the next batch. The file stays open between batches.

        A worker that starts in the middle of the file verifies the whole file first."""
        if self._lines is None or self._position != state.purged_count:
            verify_export(state, self.file)
            self._lines = islice(read_lines(self.file.path, state.export_name), state.purged_count, None)
        count = min(self.run.page_size(), MAX_PURGE_BATCH, state.exported_count - state.purged_count)
        keys = [key_of(text) for _, text in islice(self._lines, count)]
        self._position = state.purged_count + len(keys)
        return keys


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """Scans every index for items of the tenant that the scan of the table has not found."""

    run: JobRun
    table_for: TableFor

    async def process_page(self, state: OffboardingState) -> OffboardingState:
        index = cast("Index", state.index)
        scan = paced_scan(self.run, self.table_for(state).caller.table)
        page = await scan.page(fence=Fence.for_tenant(state.tenant), index=index, resume_key=state.resume_key)
        scanned = replace(
            state,
            resume_key=encode_key(page.next_key),
            scanned_count=state.scanned_count + page.scanned_count,
            found_count=state.found_count + len(page.items),
        )
        if page.next_key:
            return scanned
        if scanned.found_count:
            await self.run.resources.sleep(INDEX_LAG_SECONDS)
        return after_index_scan(scanned, index)
