"""Offboarding while somebody waits for the answer: as far as it comes within a call."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from keyfence.operations.offboarding.beginning import Beginning, Departure
from keyfence.operations.offboarding.worker import Means, Worker
from keyfence.tenancy.offboarding import Phase
from keyfence_iam.boundary import TenantId

SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Attended:
    """Whoever asks again goes on; the answer says how far it has come."""

    begin: Beginning
    means: Means
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic

    async def __call__(self, id: TenantId, confirm: str) -> Departure:
        begun = await self.begin(id, confirm)
        if begun.job.phase is Phase.FINISHED:
            return begun
        end = self.clock() + self.seconds
        job = await Worker(self.means).run(id, stop=lambda: self.clock() >= end)
        tenant = await self.begin.register.get(id)
        self.begin.told(tenant)
        return Departure(tenant=tenant, job=job)
