"""The composition root: the only place that knows everyone."""

from service.app.commands import desk, handles, migrating
from service.app.connections import local_tables, local_vending, local_wire, region, warden
from service.app.examination import obstacles
from service.app.operators import onboarding
from service.app.serving import application, local, production
from service.app.setting_up import provision, set_up

__all__ = [
    "application",
    "desk",
    "handles",
    "local",
    "local_tables",
    "local_vending",
    "local_wire",
    "migrating",
    "obstacles",
    "onboarding",
    "production",
    "provision",
    "region",
    "set_up",
    "warden",
]
