"""A pass gives every item of a table, or of one tenant in it, to a function, and can be resumed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from math import inf

import orjson

from keyfence.errors import Conflict
from keyfence.jobs.job_record import ScanCheckpoint, checkpoints
from keyfence.jobs.job_runner import JobRun, complete_before_cancel
from keyfence.jobs.job_store import TAKEN_OVER
from keyfence.store.codec import Item
from keyfence.store.dual_write.read_comparison import canonical
from keyfence.store.expressions import absent
from keyfence.store.keys import Fence
from keyfence.store.scan import ScanPage, ScanSegment, TableScan
from keyfence.store.writes import Write, put, update_model

MAX_IDLE_ROUNDS = 5
"""How many rounds in a row may leave no fewer wrong items than the best round before."""
_DIGEST_MODULUS = 2**128


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """Numbers of a page, of a segment or of a whole pass. Results can be added in any order."""

    scanned: int = 0
    """Counted by the pass itself."""
    changed: int = 0
    wrong: int = 0
    """Items that a verifying pass found not to be as they should."""
    digest: int = 0
    """Sum of the digests of the items that were changed or compared."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Other numbers to report."""
    units: float = 0.0
    """Capacity units that the calls consumed."""

    def __add__(self, other: "PassResult") -> "PassResult":
        return PassResult(
            scanned=self.scanned + other.scanned,
            changed=self.changed + other.changed,
            wrong=self.wrong + other.wrong,
            digest=(self.digest + other.digest) % _DIGEST_MODULUS,
            counts=Counter(self.counts) + Counter(other.counts),
            units=self.units + other.units,
        )

    @property
    def reported_counts(self) -> Mapping[str, int]:
        return {**self.counts, **({"wrong": self.wrong} if self.wrong else {})}


Process = Callable[[Sequence[Item]], Awaitable[PassResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPass:
    """Gives every item that exists during the whole pass to `process`, page by page.

    A page is given once, or again if a worker died before its checkpoint was saved. So `process` must do nothing to an
    item that it has already dealt with."""

    name: str
    process: Process
    fence: Fence | None = None
    """Only items whose key is inside this fence; all items if None."""
    table: str | None = None
    """Another table than the shared one."""
    single_segment: bool = False
    """For functions that delete items: an engine may lose its place in a segment when items disappear from it."""


async def run_pass(run: JobRun, scan_pass: ScanPass) -> PassResult:
    """Runs a pass from its checkpoints on. Returns its result at once if all its segments are done."""
    count = 1 if scan_pass.single_segment else run.job.segments
    segments: Sequence[ScanCheckpoint] = await run.resources.store.checkpoints(run.job, scan_pass.name, count)
    if run.job.phase != scan_pass.name and not all(segment.done for segment in segments):
        expected = run.job.table_items.get(table_scan(run, scan_pass.table).caller.table)
        await run.save(phase=scan_pass.name, items_scanned=0, items_expected=expected, counts={})
    while not all(segment.done for segment in segments):
        run.check_stop()
        segments = await complete_before_cancel(_process_pages(run, scan_pass, segments))
    return sum_checkpoints(segments)


async def repeat_until_clean(run: JobRun, change: ScanPass, verify: ScanPass) -> PassResult:
    """Runs both passes, round after round, until `verify` finds nothing wrong.

    Raises Conflict after several rounds in a row without progress."""
    fewest, idle_rounds = inf, 0
    while True:
        await run_pass(run, replace(change, name=f"{change.name}-{run.job.round}"))
        found = await run_pass(run, replace(verify, name=f"{verify.name}-{run.job.round}"))
        if not found.wrong:
            return found
        fewest, idle_rounds = (found.wrong, 1) if found.wrong < fewest else (fewest, idle_rounds + 1)
        await run.save(round=run.job.round + 1)
        if idle_rounds == MAX_IDLE_ROUNDS:
            raise Conflict(
                f"after {MAX_IDLE_ROUNDS} rounds {found.wrong:,} items are still wrong; find out what writes them, "
                "then resume the job"
            )


async def _process_pages(
    run: JobRun, scan_pass: ScanPass, segments: Sequence[ScanCheckpoint]
) -> Sequence[ScanCheckpoint]:
    """Processes one page of each segment in parallel. If some fail, the others are saved before the error is raised."""
    run.resources.failpoint(f"before {scan_pass.name}")
    open_segments = [segment for segment in segments if not segment.done]
    outcomes = await asyncio.gather(
        *(_process_page(run, scan_pass, segment) for segment in open_segments), return_exceptions=True
    )
    run.resources.failpoint(f"processed {scan_pass.name}")
    moved = [(old, new) for old, new in zip(open_segments, outcomes, strict=True) if isinstance(new, ScanCheckpoint)]
    newest = {segment.segment: segment for segment in (*segments, *(new for _, new in moved))}
    total = sum_checkpoints(newest.values())
    await run.save(
        *(_checkpoint_write(old, new) for old, new in moved),
        items_scanned=total.scanned,
        items_changed=run.job.items_changed + sum(new.changed - old.changed for old, new in moved),
        counts=total.reported_counts,
        **_table_items(run, scan_pass, newest.values(), total),
    )
    run.resources.failpoint(f"saved {scan_pass.name}")
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(newest.values())


def _table_items(
    run: JobRun, scan_pass: ScanPass, segments: Iterable[ScanCheckpoint], total: PassResult
) -> dict[str, Mapping[str, int]]:
    """Returns the change that remembers the size of the table, if the pass is complete."""
    if not all(segment.done for segment in segments):
        return {}
    table = table_scan(run, scan_pass.table).caller.table
    return {"table_items": {**run.job.table_items, table: total.scanned}}


async def _process_page(run: JobRun, scan_pass: ScanPass, segment: ScanCheckpoint) -> ScanCheckpoint:
    page = await table_scan(run, scan_pass.table).page(
        fence=scan_pass.fence,
        after=resume_key(segment),
        limit=run.page_size,
        segment=ScanSegment(segment.segment, segment.segments),
    )
    await run.pacer.wait(page.units)
    fence = scan_pass.fence
    items = [item for item in page.items if fence is None or fence.contains(item["PK"]["S"])]
    result = await scan_pass.process(items) if items else PassResult()
    await run.pacer.wait(result.units)
    return advance_checkpoint(segment, page, result, run.resources.store.now())


def table_scan(run: JobRun, table: str | None) -> TableScan:
    scan = run.resources.scan
    return replace(scan, caller=replace(scan.caller, table=table or scan.caller.table))


def advance_checkpoint(segment: ScanCheckpoint, page: ScanPage, result: PassResult, at: datetime) -> ScanCheckpoint:
    """Returns the checkpoint after a page that has been processed."""
    total = _result(segment) + replace(result, scanned=page.scanned)
    return replace(
        segment,
        resume_key=orjson.dumps(page.next_key).decode() if page.next_key else None,
        scanned=total.scanned,
        changed=total.changed,
        wrong=total.wrong,
        digest=f"{total.digest:032x}",
        counts=dict(total.counts),
        done=page.next_key is None,
        updated_at=at,
        version=segment.version + 1,
    )


def resume_key(segment: ScanCheckpoint) -> Item | None:
    return orjson.loads(segment.resume_key) if segment.resume_key else None


def sum_checkpoints(segments: Iterable[ScanCheckpoint]) -> PassResult:
    return sum((_result(segment) for segment in segments), start=PassResult())


def item_digest(item: Item) -> int:
    """Returns a number that is the same for equal items.

    The sum of these numbers differs for two sets of items that differ, also in how often an item occurs."""
    text = orjson.dumps(canonical({"M": item}), option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(blake2b(text, digest_size=16).digest())


def _checkpoint_write(before: ScanCheckpoint, after: ScanCheckpoint) -> Write[ScanCheckpoint]:
    if before.version == 0:
        return put(checkpoints, after, when=absent(), on_failure=TAKEN_OVER)
    return update_model(checkpoints, before, after, on_failure=TAKEN_OVER)


def _result(segment: ScanCheckpoint) -> PassResult:
    return PassResult(
        scanned=segment.scanned,
        changed=segment.changed,
        wrong=segment.wrong,
        digest=int(segment.digest or "0", 16),
        counts=segment.counts,
    )
