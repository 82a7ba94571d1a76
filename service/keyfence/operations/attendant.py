"""Migrations carried on beside the requests of a server."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from keyfence.errors import KeyfenceError
from keyfence.tenancy.migration import Migration, MigrationId

CarryOn = Callable[[Migration], Awaitable[object]]

log = structlog.get_logger(__name__)


class Attendant:
    """Each once at a time. What ends before its time waits for somebody who asks for the same again."""

    def __init__(self, carry_on: CarryOn) -> None:
        self._carry_on = carry_on
        self._tasks: dict[MigrationId, asyncio.Task[None]] = {}

    def __call__(self, migration: Migration) -> None:
        if migration.id not in self._tasks:
            task = self._tasks[migration.id] = asyncio.ensure_future(self._attend(migration))
            task.add_done_callback(lambda _: self._tasks.pop(migration.id, None))

    async def _attend(self, migration: Migration) -> None:
        try:
            await self._carry_on(migration)
        except KeyfenceError as error:
            log.warning("migration_stopped", migration=migration.id, kind=migration.kind, why=error.message)
        except Exception:
            log.exception("migration_failed", migration=migration.id, kind=migration.kind)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
