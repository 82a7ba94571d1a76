"""The engine: it takes a migration, runs its program from wherever another worker left it, and lets go of it."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from keyfence.migrations.means import Means
from keyfence.migrations.run import Paused, Run
from keyfence.tenancy.migration import Migration, MigrationId

Program = Callable[[Run], Awaitable[None]]


async def carry_on(means: Means, id: MigrationId, program: Program) -> Migration:
    """Until it is finished or told to stop; the migration as far as it has come."""
    found = await means.records.get(id)
    if found.finished_at:
        return found
    asked_at = time.monotonic()
    async with means.records.held(found) as taken:
        run = Run(means, taken, asked_at)
        means.tell(taken)
        with suppress(Paused):
            async with run.held():
                await program(run)
            await run.finish()
    return await means.records.get(id)
