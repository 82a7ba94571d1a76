"""The composition root: the only place that knows everyone."""

from keyfence.app.commands import desk, handles, migrating
from keyfence.app.connections import local_tables, local_vending, local_wire, region, warden
from keyfence.app.examination import obstacles
from keyfence.app.operators import onboarding
from keyfence.app.serving import application, local, production
from keyfence.app.setting_up import provision, set_up

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
