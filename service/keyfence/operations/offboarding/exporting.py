"""A round over the table that writes every item of the tenant to the export, page by page."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson
import structlog

from keyfence.errors import Conflict
from keyfence.operations.offboarding.chain import chained, genesis
from keyfence.operations.offboarding.export_file import Damaged, ExportFile, proof
from keyfence.store.keys import Fence
from keyfence.store.rate import Rate
from keyfence.store.sweep import Sweep
from keyfence.tenancy.offboarding import Job, Phase

log = structlog.get_logger(__name__)


class Halted(Exception):
    """The offboarding goes on from `job` when what is wrong has been put right."""

    def __init__(self, job: Job, error: Conflict) -> None:
        super().__init__(error.message)
        self.job = job
        self.error = error


@dataclass(frozen=True, slots=True)
class Exporting:
    """Pages of about a second's worth of units. A round that finds nothing shows that the table has nothing left."""

    sweep: Callable[[Job], Sweep]
    file: ExportFile
    rate: Rate
    limit: int

    async def page(self, job: Job) -> Job:
        fence = Fence.around(job.tenant)
        after = orjson.loads(job.after) if job.after else None
        page = await self.sweep(job).page(inside=fence, after=after, limit=self.limit)
        own = [item for item in page.items if fence.holds(item["PK"]["S"])]
        head, lines = chained(job.head, own)
        size = await asyncio.to_thread(self.file.append, job.size, lines) if own else job.size
        await self.rate.wait(page.units)
        written = replace(
            job,
            after=orjson.dumps(page.then).decode() if page.then else None,
            scanned=job.scanned + page.scanned,
            found=job.found + len(own),
            strays=job.strays + _told([item["PK"]["S"] for item in page.items if item not in own]),
            lines=job.lines + len(own),
            size=size,
            head=head,
        )
        return written if page.then else _ended(written)

    async def prove(self, job: Job) -> Job:
        """Nothing is purged that cannot be read from the disk."""
        await asyncio.to_thread(check, job, self.file)
        return replace(job, phase=Phase.PURGING)


def begun(job: Job) -> Job:
    """At the beginning of a round."""
    return replace(job, phase=Phase.EXPORTING, index="table", after=None, scanned=0, found=0, strays=0)


def again(job: Job) -> Job:
    return replace(begun(job), round=job.round + 1)


def replaceable(job: Job) -> bool:
    """Whether all that was exported is still in the table, so that a bad export can be made again."""
    return job.round == 1 and job.phase in {Phase.EXPORTING, Phase.PROVING}


def anew(job: Job) -> Job:
    return replace(begun(job), lines=0, size=0, head=genesis(job.export))


def check(job: Job, file: ExportFile) -> None:
    """Whether the file is what the job says of it."""
    file.append(job.size, b"")
    found = proof(file.path, job.export)
    if (found.lines, found.head, found.size) != (job.lines, job.head, job.size):
        raise Damaged(f"{file.path} is not the export that was written: {found.lines:,} lines are right", line=None)


def _ended(job: Job) -> Job:
    if job.found:
        return replace(job, phase=Phase.PROVING)
    if job.strays:
        words = f"{job.strays:,} items of others stand among this tenant's in an index; the log names their partitions"
        raise Halted(again(job), Conflict(words))
    return replace(job, phase=Phase.VERIFYING, index="gsi1", scanned=0)


def _told(partitions: list[str]) -> int:
    for partition in partitions:
        log.error("stray_in_index", partition=partition)
    return len(partitions)
