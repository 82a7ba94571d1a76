"""The composition root: the only place that knows everyone."""

from keyfence.app.commands import connect, migrator, operator_context
from keyfence.app.connections import local_tables, local_vending, local_wire, region, suspension_publisher
from keyfence.app.examination import startup_problems
from keyfence.app.operators import onboarding
from keyfence.app.serving import application, local, production
from keyfence.app.setting_up import create_table, prepare_table

__all__ = [
    "application",
    "connect",
    "create_table",
    "local",
    "local_tables",
    "local_vending",
    "local_wire",
    "migrator",
    "onboarding",
    "operator_context",
    "prepare_table",
    "production",
    "region",
    "startup_problems",
    "suspension_publisher",
]
