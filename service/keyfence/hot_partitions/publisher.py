"""Telling the fleet what is hot here: every few seconds, and only while anything is."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from ulid import ULID

from keyfence.errors import KeyfenceError
from keyfence.hot_partitions.autopilot import Autopilot
from keyfence.hot_partitions.fleet import FleetTraffic
from keyfence.hot_partitions.hottest import HotPartitionFinder, HotPartitionReport

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TrafficPublisher:
    """Whoever has something hot also looks at what all of them have, and has it attended to."""

    hottest: HotPartitionFinder
    fleet: FleetTraffic
    autopilot: Autopilot
    seconds: float = 10.0
    server: str = field(default_factory=lambda: str(ULID()))
    _told: bool = False
    _running: "asyncio.Task[None] | None" = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def flush(self) -> None:
        async with self._one:
            if hot := self.hottest.now():
                await self._tell(hot)

    async def _tell(self, hot: HotPartitionReport) -> None:
        try:
            self._told = True
            await self.fleet.put(self.server, hot)
            await self.autopilot.look(await self.fleet.hot())
        except KeyfenceError as error:
            log.warning("traffic_publish_failed", reason=error.message)

    def start(self) -> None:
        self._running = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """What it said dies with it: its part of the traffic goes to the others.

        A write that is under way is waited for: left alone, it might arrive after that."""
        async with self._one:
            if self._running:
                self._running.cancel()
        await self.autopilot.stop()
        if self._told:
            with suppress(KeyfenceError):
                await self.fleet.forget(self.server)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.seconds)
            try:
                await self.flush()
            except Exception:
                log.exception("background_task_failed")
