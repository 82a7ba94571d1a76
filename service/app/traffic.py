"""What is made of the traffic that a server sees."""

from service import catalogue
from service.settings import Settings
from service.store.tables import Tables
from service.tenancy.register import Register
from service.traffic.autopilot import NAME, Autopilot, Grow
from service.traffic.flushing import Flushing
from service.traffic.hottest import Hottest
from service.traffic.naming import Naming
from service.traffic.repository import FleetTraffic
from service.traffic.window import Window


def traffic_of(settings: Settings, tables: Tables, window: Window, grow: Grow | None) -> Flushing:
    control = tables.control(writes=True)
    hottest = Hottest(window, Naming.of(catalogue.entities()), settings.fleet)
    autopilot = Autopilot(register=Register(control, NAME), mode=settings.autopilot, grow=grow)
    return Flushing(hottest, FleetTraffic(control), autopilot, settings.traffic_seconds)
