"""Writing usage down: every few seconds, and once more at the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from keyfence.errors import KeyfenceError
from keyfence.store.tables import Tables
from keyfence.usage.ledger import Ledger
from keyfence.usage.repository import Usages

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Flushing:
    """What could not be written stays in the ledger and is written with the next."""

    ledger: Ledger
    usages: Usages
    seconds: float = 10.0
    _running: "asyncio.Task[None] | None" = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def flush(self) -> None:
        """One at a time, so that no older numbers overtake newer ones."""
        async with self._one:
            due = [(leaf, leaf.changes, leaf.kept()) for leaf in self.ledger.due()]
            if not due:
                return
            try:
                await self.usages.put([kept for _, _, kept in due])
            except KeyfenceError as error:
                self.ledger.fail(len(due))
                log.warning("usage_not_written", leaves=len(due), error=error.message)
                return
            self.ledger.settle([(leaf, changes) for leaf, changes, _ in due])

    def start(self) -> None:
        self._running = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """A write that is under way is waited for: left alone, it might arrive after the last one."""
        async with self._one:
            if self._running:
                self._running.cancel()
        await self.flush()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.seconds)
            try:
                await self.flush()
            except Exception:
                log.exception("usage_flush_broke")


@asynccontextmanager
async def counted(tables: Tables) -> AsyncIterator[Tables]:
    """These tables for a command, whose calls are written down when it ends."""
    ledger = Ledger()
    metered = replace(tables, accounts=ledger.accounts)
    try:
        yield metered
    finally:
        await Flushing(ledger, Usages(metered.control(writes=True))).flush()
