"""The look into every index, after the table was found to hold nothing of the tenant."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import cast

import orjson

from keyfence.operations.offboarding.exporting import again
from keyfence.store.entity import Index
from keyfence.store.keys import Fence
from keyfence.store.rate import Rate
from keyfence.store.sweep import INDEXES, Sweep
from keyfence.tenancy.move import Placement
from keyfence.tenancy.offboarding import Job, Phase

LAG = 2.0
"""An index shows a deletion a moment after the table."""


@dataclass(frozen=True, slots=True)
class Verifying:
    """Whatever is found sends the job back to the table, which is read as it is."""

    sweep: Callable[[Job], Sweep]
    rate: Rate
    limit: int
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def page(self, job: Job) -> Job:
        index = cast("Index", job.index)
        after = orjson.loads(job.after) if job.after else None
        fence, sweep = Fence.around(job.tenant), self.sweep(job)
        page = await sweep.page(inside=fence, index=index, after=after, limit=self.limit)
        await self.rate.wait(page.units)
        looked = replace(job, scanned=job.scanned + page.scanned, found=job.found + len(page.items))
        if page.then:
            return replace(looked, after=orjson.dumps(page.then).decode())
        return await self._ended(replace(looked, after=None), index)

    async def _ended(self, job: Job, index: Index) -> Job:
        if job.found:
            await self.sleep(LAG)
            return again(job)
        if index != INDEXES[-1]:
            return replace(job, index=INDEXES[INDEXES.index(index) + 1])
        return replace(job, phase=Phase.DROPPING if job.placement is Placement.SILO else Phase.CERTIFYING)


def elsewhere(job: Job) -> Job:
    """Its own table is gone; nobody should find anything in that of all."""
    return again(replace(job, placement=Placement.POOL))
