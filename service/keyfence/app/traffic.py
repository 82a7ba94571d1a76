"""What is made of the traffic that a server sees."""

from collections.abc import Callable

from keyfence import catalogue
from keyfence.operations.resharding import Reshards
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.migration import Migration
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.repository import Register
from keyfence.traffic.autopilot import NAME, Autopilot
from keyfence.traffic.flushing import Flushing
from keyfence.traffic.hottest import Hottest
from keyfence.traffic.naming import Naming
from keyfence.traffic.repository import FleetTraffic
from keyfence.traffic.window import Window


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
    hottest = Hottest(window, Naming.of(catalogue.entities()), settings.fleet)
    autopilot = Autopilot(register=register, mode=settings.autopilot, grow=Reshards(register, told, carry_on))
    return Flushing(hottest, FleetTraffic(control), autopilot, settings.traffic_seconds)
