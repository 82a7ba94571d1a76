"""What is made of the traffic that a server sees."""

from collections.abc import Callable

from keyfence.hot_partitions.autopilot import NAME, Autopilot
from keyfence.hot_partitions.fleet import FleetTraffic
from keyfence.hot_partitions.hottest import CollectionMatcher, HotPartitionFinder
from keyfence.hot_partitions.partition_load import Partition
from keyfence.hot_partitions.publisher import TrafficPublisher
from keyfence.jobs.job import Job
from keyfence.jobs.reshard.start import StartReshard
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.dynamodb.traffic_window import TrafficWindow


def traffic_of(
    settings: Settings,
    tables: Tables,
    window: TrafficWindow[Partition],
    told: Callable[[Tenant], None],
    carry_on: Callable[[Job], None],
) -> TrafficPublisher:
    """Growth is begun as an operator would begin it, and carried on by this very server."""
    control = tables.control(writes=True)
    register = TenantRepository(control, NAME)
    hottest = HotPartitionFinder(window, CollectionMatcher.of(tables.entities), settings.fleet)
    autopilot = Autopilot(register=register, mode=settings.autopilot, grow=StartReshard(register, told, carry_on))
    return TrafficPublisher(hottest, FleetTraffic(control), autopilot, settings.traffic_seconds)
