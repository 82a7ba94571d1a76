"""The migrator, which moves and removes what belongs to tenants."""

from dataclasses import replace

from keyfence.app.connections import (
    LOCAL_PATIENCE_SECONDS,
    local_vending,
    local_wire,
    production_sts,
    production_wire,
    tables_at,
    vending_from,
    warden,
)
from keyfence.jobs.migrator import Migrator
from keyfence.local.compute import running_as
from keyfence.settings import Settings
from keyfence.store.dynamodb.client import Wire
from keyfence.store.dynamodb.credentials import Own, Running, VendedToMigrator
from keyfence.store.dynamodb.table_definition import Silos
from keyfence_iam.gate.account.session import Sessions
from keyfence_iam.roles.names import MIGRATOR
from keyfence_iam.sts import Vending
from keyfence_iam.sts.client import ambient
from keyfence_iam.sts.refresh import Pace


def local_migrator(settings: Settings, sessions: Sessions) -> Migrator:
    vending = local_vending(settings, sessions, MIGRATOR)
    return _migrator(settings, local_wire(settings), vending, running_as(MIGRATOR, sessions))


def production_migrator(settings: Settings) -> Migrator:
    """A page of a scan takes longer than what requests wait for."""
    vending = vending_from(settings, production_sts(settings), Pace(session=settings.session_seconds))
    wire = replace(production_wire(settings), read_timeout=max(settings.read_timeout, LOCAL_PATIENCE_SECONDS))
    return _migrator(settings, wire, vending, ambient())


def _migrator(settings: Settings, wire: Wire, vending: Vending, running: Running) -> Migrator:
    tables = replace(tables_at(settings, wire, vending), credentials=VendedToMigrator(vending))
    own = Own(running)
    silos = Silos(wire, settings.table, own)
    return Migrator(tables=tables, own=own, silos=silos, shut=warden(settings, vending), vending=vending)
