"""The migrator, which moves and removes what belongs to tenants."""

from dataclasses import replace
from datetime import timedelta

from keyfence.app.connections import (
    LOCAL_PATIENCE_SECONDS,
    local_vending,
    local_wire,
    production_sts,
    production_wire,
    suspension_publisher,
    tables_at,
    vending_from,
)
from keyfence.jobs.migrator import MigratorAccess
from keyfence.local.compute import boto_session_for
from keyfence.settings import Settings
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.credentials import BotoSession, MigratorCredentials, ProcessCredentials
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import MIGRATOR
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.client import default_boto_session
from keyfence_iam.sts.refresh import RefreshSchedule


def local_migrator(settings: Settings, sessions: SessionIssuer) -> MigratorAccess:
    vending = local_vending(settings, sessions, MIGRATOR)
    return _migrator(settings, local_wire(settings), vending, boto_session_for(MIGRATOR, sessions))


def production_migrator(settings: Settings) -> MigratorAccess:
    """A page of a scan takes longer than what requests wait for."""
    vending = vending_from(settings, production_sts(settings), RefreshSchedule(session=settings.session_seconds))
    wire = replace(production_wire(settings), read_timeout=max(settings.read_timeout, LOCAL_PATIENCE_SECONDS))
    return _migrator(settings, wire, vending, default_boto_session())


def _migrator(
    settings: Settings, wire: ConnectionOptions, vending: SessionCache, running: BotoSession
) -> MigratorAccess:
    tables = replace(tables_at(settings, wire, vending), credentials=MigratorCredentials(vending))
    own = ProcessCredentials(running)
    silos = SiloTables(wire, settings.table, own)
    return MigratorAccess(
        tables=tables,
        own=own,
        silos=silos,
        shut=suspension_publisher(settings, vending),
        vending=vending,
        settle=timedelta(seconds=settings.settle_seconds),
    )
