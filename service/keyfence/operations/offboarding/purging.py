"""The deletion of what was exported, as the tenant itself, line by line of the export."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from keyfence.errors import Internal
from keyfence.operations.offboarding.chain import key_of
from keyfence.operations.offboarding.export_file import ExportFile, items
from keyfence.operations.offboarding.exporting import again, check
from keyfence.store.codec import Item
from keyfence.store.purge import purge
from keyfence.store.rate import Rate
from keyfence.store.table import Table
from keyfence.tenancy.offboarding import Job


@dataclass(slots=True)
class Purging:
    """Nothing else is deleted: an item that nobody exported is found by the next round."""

    table: Callable[[Job], Table]
    file: ExportFile
    rate: Rate
    limit: int
    _lines: Iterator[tuple[str, bytes]] | None = None
    _at: int = field(default=0)

    async def some(self, job: Job) -> Job:
        keys = await asyncio.to_thread(self._next, job)
        if not keys:
            raise Internal(f"{job.export} ends before line {job.lines}")
        await self.rate.wait(await purge(self.table(job), keys))
        purged = replace(job, purged=job.purged + len(keys))
        return purged if purged.purged < job.lines else again(purged)

    def _next(self, job: Job) -> list[Item]:
        """The file is read once, unless another worker has begun; then it is proven before it is believed."""
        if self._lines is None or self._at != job.purged:
            check(job, self.file)
            self._lines = islice(items(self.file.path, job.export), job.purged, None)
        most = min(self.limit, job.lines - job.purged)
        keys = [key_of(text) for _, text in islice(self._lines, most)]
        self._at = job.purged + len(keys)
        return keys
