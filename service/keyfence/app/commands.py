"""What commands hold: the table as the service, as an operator, or as the migrator sees it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from keyfence import log
from keyfence.admin.context import Context as AdminContext
from keyfence.app.connections import (
    local_vending,
    local_wire,
    production_sts,
    production_wire,
    suspension_publisher,
    tables_at,
    vending_from,
)
from keyfence.app.migrators import local_migrator, production_migrator
from keyfence.app.operators import admin_context
from keyfence.auth.principal import Operator
from keyfence.jobs.migrator import MigratorAccess
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.refresh import RefreshSchedule


@contextmanager
def connect(settings: Settings, sessions: SessionIssuer | None) -> Iterator[Tables]:
    """The table for a command: at the local gate whose sessions these are, or on AWS."""
    with _connected(settings, sessions) as (tables, _):
        yield tables


@contextmanager
def operator_context(
    settings: Settings, sessions: SessionIssuer | None, by: str, *, writes: bool
) -> Iterator[AdminContext]:
    """What an operator's request holds, for one who sits at a command: no token, and no server that could be told."""
    with _connected(settings, sessions) as (tables, vending):
        operator = Operator(subject=by, token_id="", expires_at=0)
        shut = suspension_publisher(settings, vending)
        yield admin_context(settings, operator, tables, lambda _: None, shut, None, writes=writes)


@contextmanager
def _connected(settings: Settings, sessions: SessionIssuer | None) -> Iterator[tuple[Tables, SessionCache]]:
    log.configure(as_json=False, file=sys.stderr)
    pace = RefreshSchedule(session=settings.session_seconds)
    vending = local_vending(settings, sessions) if sessions else vending_from(settings, production_sts(settings), pace)
    tables = tables_at(settings, local_wire(settings) if sessions else production_wire(settings), vending)
    try:
        yield tables, vending
    finally:
        tables.client.close()
        vending.close()


@contextmanager
def migrator(settings: Settings, sessions: SessionIssuer | None) -> Iterator[MigratorAccess]:
    """For a command that runs as the migrator: at the local gate whose sessions these are, or on AWS."""
    log.configure(as_json=False, file=sys.stderr)
    migrator = local_migrator(settings, sessions) if sessions else production_migrator(settings)
    try:
        yield migrator
    finally:
        migrator.close()
