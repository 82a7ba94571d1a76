"""The traffic of all servers together."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from keyfence.store import clock
from keyfence.store.table import Table
from keyfence.traffic.access import server_traffic, traffic_of_server, traffic_of_servers
from keyfence.traffic.hottest import Hot
from keyfence.traffic.model import KEPT, ServerTraffic
from keyfence.traffic.spot import Spot, read, summed, written
from keyfence.traffic.units import STEPS, step_of


@dataclass(frozen=True, slots=True)
class FleetTraffic:
    """Written and read by the control plane; no tenant reaches it."""

    table: Table
    now: Callable[[], datetime] = clock.now

    async def put(self, server: str, hot: Hot) -> None:
        now = self.now()
        kept = ServerTraffic(
            server=server,
            partitions=written(hot.partitions),
            lists=written(hot.lists),
            ttl=int((now + KEPT).timestamp()),
            created_at=now,
            updated_at=now,
        )
        await self.table.put_many(server_traffic, [kept])

    async def forget(self, server: str) -> None:
        await self.table.delete_many(traffic_of_server, [{"server": server}])

    async def hot(self) -> Hot:
        """Of the last minute: what a server that is gone or quiet has said before drops out."""
        oldest = step_of(self.now().timestamp()) - STEPS + 1
        partitions: list[Spot] = []
        lists: list[Spot] = []
        async for one in self.table.every(traffic_of_servers):
            partitions += _recent(one.partitions, oldest)
            lists += _recent(one.lists, oldest)
        return Hot(summed(partitions), summed(lists))


def _recent(text: str, oldest: int) -> list[Spot]:
    recent = (spot.since(oldest) for spot in read(text))
    return [spot for spot in recent if spot.steps]
