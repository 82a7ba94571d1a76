"""What is made of the traffic that a server sees."""

from collections.abc import Callable

from service import catalogue
from service.operations.resharding import Reshards
from service.settings import Settings
from service.store.tables import Tables
from service.tenancy.migration import Migration
from service.tenancy.model import Tenant
from service.tenancy.register import Register
from service.traffic.autopilot import NAME, Autopilot
from service.traffic.flushing import Flushing
from service.traffic.hottest import Hottest
from service.traffic.naming import Naming
from service.traffic.repository import FleetTraffic
from service.traffic.window import Window


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
