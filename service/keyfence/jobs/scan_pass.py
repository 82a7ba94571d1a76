"""`ScanPass`: calls a function with all items of a table, or of one tenant. An interrupted pass can be resumed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from math import inf

import orjson

from keyfence.errors import Conflict
from keyfence.jobs.job_record import JobId
from keyfence.jobs.job_runner import JobRun, complete_before_cancel
from keyfence.jobs.scan_checkpoint import (
    PassResult,
    ScanCheckpoint,
    checkpoint_write,
    decode_key,
    load_checkpoints,
    new_checkpoints,
    sum_results,
)
from keyfence.store import timestamps
from keyfence.store.codec import Item
from keyfence.store.dual_write.read_comparison import with_sorted_sets
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.entity import Index
from keyfence.store.keys import Fence
from keyfence.store.scan import WHOLE_TABLE, ScanPage, ScanSegment, TableScan

MAX_IDLE_ROUNDS = 5
"""A job stops if the number of wrong items has not become smaller for this many rounds."""

ProcessPage = Callable[[Sequence[Item]], Awaitable[PassResult]]
"""A function that processes the items of one page, and returns its numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPass:
    """Calls `process` with every item that exists during the whole pass, page by page.

    A worker may die after it has processed a page and before it has saved the checkpoint. Then the next worker
    processes the page again. So `process` must not change an item that it has already processed."""

    name: str
    process: ProcessPage
    fence: Fence | None = None
    """Only items whose key is inside this fence are processed. None means all items."""
    table: str | None = None
    """The name of the table. None means the shared table."""
    single_segment: bool = False
    """True if `process` deletes items. An engine may lose its position in a segment when items of it are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedScan:
    """Reads pages of one table, no faster than the pacer allows. Every scan of a job or a measurement uses it."""

    scan: TableScan
    pacer: Pacer
    page_size: int

    async def page(
        self,
        *,
        fence: Fence | None,
        index: Index = "table",
        resume_key: str | None,
        segment: ScanSegment = WHOLE_TABLE,
    ) -> ScanPage:
        page = await self.scan.page(
            fence=fence, index=index, after=decode_key(resume_key), limit=self.page_size, segment=segment
        )
        await self.pacer.wait(page.units)
        return page

    async def process_page(
        self, scan_pass: ScanPass, checkpoint: ScanCheckpoint, now: Callable[[], datetime] = timestamps.utc_now
    ) -> ScanCheckpoint:
        """Processes the next page of a segment, and returns the checkpoint after it."""
        fence = scan_pass.fence
        page = await self.page(
            fence=fence,
            resume_key=checkpoint.resume_key,
            segment=ScanSegment(checkpoint.segment, checkpoint.segment_count),
        )
        items = [item for item in page.items if fence is None or fence.contains(item["PK"]["S"])]
        result = await scan_pass.process(items) if items else PassResult()
        await self.pacer.wait(result.units)
        return checkpoint.after_page(page, result, now())


def paced_scan(run: JobRun, table: str | None, segment_count: int = 1) -> PacedScan:
    """Returns a scan of a table, in this many segments, at the rate of the job. None means the shared table."""
    scan = run.resources.scan
    if table is not None:
        scan = replace(scan, caller=replace(scan.caller, table=table))
    return PacedScan(scan=scan, pacer=run.pacer, page_size=run.page_size(segment_count))


async def run_pass_once(paced: PacedScan, scan_pass: ScanPass, on_progress: Callable[[int], None]) -> PassResult:
    """Runs a pass that cannot be resumed: its checkpoint is not saved, and it needs no job.

    Calls `on_progress` after each page with the number of items that were scanned."""
    (checkpoint,) = new_checkpoints(JobId(""), scan_pass.name, 1, timestamps.utc_now())
    while not checkpoint.is_done:
        before = checkpoint
        checkpoint = await paced.process_page(scan_pass, before)
        on_progress(checkpoint.scanned - before.scanned)
    return checkpoint.result


async def run_pass(run: JobRun, scan_pass: ScanPass) -> PassResult:
    """Runs a pass from its saved checkpoints on. If all its segments are done, it only returns the result."""
    segment_count = 1 if scan_pass.single_segment else run.job.segments
    segments: Sequence[ScanCheckpoint] = await load_checkpoints(
        run.resources.store, run.job, scan_pass.name, segment_count
    )
    if run.job.phase != scan_pass.name and not _all_done(segments):
        items_expected = run.job.table_items.get(_table_name(run, scan_pass))
        await run.save(phase=scan_pass.name, items_scanned=0, items_expected=items_expected, counts={})
    while not _all_done(segments):
        run.check_stop()
        segments = await complete_before_cancel(_process_pages(run, scan_pass, segments))
    return sum_results(segments)


async def repeat_until_clean(run: JobRun, change: ScanPass, verify: ScanPass) -> PassResult:
    """Runs both passes, round after round, until `verify` finds nothing wrong. Returns the result of the last `verify`.

    Raises Conflict after several rounds in a row without progress."""
    fewest_wrong, idle_rounds = inf, 0
    while True:
        await run_pass(run, replace(change, name=f"{change.name}-{run.job.round}"))
        verified = await run_pass(run, replace(verify, name=f"{verify.name}-{run.job.round}"))
        if not verified.wrong:
            return verified
        if verified.wrong < fewest_wrong:
            fewest_wrong, idle_rounds = verified.wrong, 1
        else:
            idle_rounds += 1
        await run.save(round=run.job.round + 1)
        if idle_rounds == MAX_IDLE_ROUNDS:
            raise Conflict(
                f"after {MAX_IDLE_ROUNDS} rounds {verified.wrong:,} items are still wrong; find out what writes them, "
                "then resume the job"
            )


async def _process_pages(
    run: JobRun, scan_pass: ScanPass, segments: Sequence[ScanCheckpoint]
) -> Sequence[ScanCheckpoint]:
    """Processes one page of each segment in parallel, and saves all checkpoints in one transaction.

    If some pages fail, the checkpoints of the others are saved before the first error is raised."""
    run.resources.failpoint(f"before {scan_pass.name}")
    paced, now = paced_scan(run, scan_pass.table, len(segments)), run.resources.store.now
    open_segments = [segment for segment in segments if not segment.is_done]
    outcomes = await asyncio.gather(
        *(paced.process_page(scan_pass, segment, now) for segment in open_segments), return_exceptions=True
    )
    run.resources.failpoint(f"processed {scan_pass.name}")
    advanced = [(old, new) for old, new in zip(open_segments, outcomes, strict=True) if isinstance(new, ScanCheckpoint)]
    newest = {segment.segment: segment for segment in (*segments, *(new for _, new in advanced))}
    total = sum_results(newest.values())
    await run.save(
        *(checkpoint_write(old, new) for old, new in advanced),
        items_scanned=total.scanned,
        items_changed=run.job.items_changed + sum(new.changed - old.changed for old, new in advanced),
        counts=total.reported_counts,
        **_table_items_change(run, scan_pass, newest.values(), total),
    )
    run.resources.failpoint(f"saved {scan_pass.name}")
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(newest.values())


def _all_done(segments: Iterable[ScanCheckpoint]) -> bool:
    return all(segment.is_done for segment in segments)


def _table_items_change(
    run: JobRun, scan_pass: ScanPass, segments: Iterable[ScanCheckpoint], total: PassResult
) -> dict[str, Mapping[str, int]]:
    """Returns the change of the record that remembers the size of the table. It is empty until the pass is complete."""
    if not _all_done(segments):
        return {}
    return {"table_items": {**run.job.table_items, _table_name(run, scan_pass): total.scanned}}


def _table_name(run: JobRun, scan_pass: ScanPass) -> str:
    return scan_pass.table or run.resources.scan.caller.table


def item_digest(item: Item) -> int:
    """Returns a number that is the same for equal items.

    If two lists of items differ, or contain an item a different number of times, the sums of these numbers differ."""
    text = orjson.dumps(with_sorted_sets({"M": item}), option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(blake2b(text, digest_size=16).digest())
