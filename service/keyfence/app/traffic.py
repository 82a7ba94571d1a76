"""What is made of the traffic that a server sees."""

from collections.abc import Callable

from keyfence import access_patterns
from keyfence.hot_partitions.autopilot import NAME, Autopilot
from keyfence.hot_partitions.fleet import FleetTraffic
from keyfence.hot_partitions.hottest import Hottest, Naming
from keyfence.hot_partitions.publisher import Flushing
from keyfence.hot_partitions.window import Window
from keyfence.jobs.job import Migration
from keyfence.jobs.reshard.start import Reshards
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.repository import Register
from keyfence.tenancy.tenant import Tenant


def traffic_of(
    settings: Settings,
    tables: Tables,
    window: Window,
    told: Callable[[Tenant], None],
    carry_on: Callable[[Migration], None],
) -> Flushing:
    """Growth is begun as an operator would begin it, and carried on by this very server."""
    control = tables.control(writes=True)
    register = Register(control, NAME)
    hottest = Hottest(window, Naming.of(access_patterns.entities()), settings.fleet)
    autopilot = Autopilot(register=register, mode=settings.autopilot, grow=Reshards(register, told, carry_on))
    return Flushing(hottest, FleetTraffic(control), autopilot, settings.traffic_seconds)
