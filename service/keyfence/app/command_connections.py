"""The table, the operator's context and the migrator, for commands."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from keyfence import log
from keyfence.admin.context import AdminContext, AdminContextFactory
from keyfence.app.aws_connections import AwsAccess, Connections
from keyfence.auth.principal import Operator
from keyfence.jobs.migrator_access import MigratorAccess


@contextmanager
def connect(aws: AwsAccess) -> Iterator[Connections]:
    """Open the connections for one command and close them at its end."""
    log.configure(as_json=False, file=sys.stderr)
    connections = aws.connect()
    try:
        yield connections
    finally:
        connections.close()


@contextmanager
def operator_context(aws: AwsAccess, operator: str, *, writes: bool) -> Iterator[AdminContext]:
    """Give a command the same context as an operator's request. No token proves who the operator is."""
    with connect(aws) as connections:
        factory = AdminContextFactory(
            settings=connections.settings,
            tables=connections.tables,
            publish_suspensions=connections.publish_suspensions,
        )
        yield factory.context(Operator(subject=operator, token_id="", expires_at=0), writes=writes)


@contextmanager
def connect_migrator(aws: AwsAccess) -> Iterator[MigratorAccess]:
    """Open the connections for one command that runs as the migrator."""
    log.configure(as_json=False, file=sys.stderr)
    migrator = aws.connect_migrator()
    try:
        yield migrator
    finally:
        migrator.close()
