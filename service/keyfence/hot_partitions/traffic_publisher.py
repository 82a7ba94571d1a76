"""`TrafficPublisher`: the background task that publishes hot partitions and runs the autopilot."""

from contextlib import suppress

import structlog
from ulid import ULID

from keyfence.errors import KeyfenceError
from keyfence.hot_partitions.fleet_traffic import FleetTraffic
from keyfence.hot_partitions.hot_partition_finder import HotPartitionFinder
from keyfence.hot_partitions.shard_autopilot import Autopilot
from keyfence.periodic_task import PeriodicTask

PUBLISH_SECONDS = 10.0
"""The pause between two publications. A window of traffic has six such pauses."""

log = structlog.get_logger(__name__)


class TrafficPublisher:
    """Publishes the hot partitions of this server for the other servers.

    It does nothing while no partition is hot. A server that publishes also reads the hot partitions of all servers,
    and gives them to the autopilot."""

    def __init__(
        self,
        finder: HotPartitionFinder,
        fleet: FleetTraffic,
        autopilot: Autopilot,
        interval_seconds: float = PUBLISH_SECONDS,
    ) -> None:
        self._finder, self._fleet, self.autopilot = finder, fleet, autopilot
        self._server_id = str(ULID())
        self._has_published = False
        self._task = PeriodicTask("traffic_publisher", self._publish, interval_seconds)

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        """Stops the task, and deletes what this server published: its traffic goes to other servers now."""
        await self._task.stop()
        if self._has_published:
            with suppress(KeyfenceError):
                await self._fleet.delete(self._server_id)

    async def publish(self) -> None:
        """Publishes now, instead of after the pause."""
        await self._task.run_now()

    async def _publish(self) -> None:
        if not (report := self._finder.report()):
            return
        try:
            self._has_published = True
            await self._fleet.put(self._server_id, report)
            await self.autopilot.review(await self._fleet.report())
        except KeyfenceError as error:
            log.warning("traffic_publish_failed", reason=error.message)
