"""Context managers that open the connections of a command, and close them when the command ends."""

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
    """Opens the connections of a command that has the permissions of a server. Sends the log to stderr."""
    log.configure(as_json=False, file=sys.stderr)
    connections = aws.connect()
    try:
        yield connections
    finally:
        connections.close()


@contextmanager
def operator_context(aws: AwsAccess, operator: str, *, may_write: bool) -> Iterator[AdminContext]:
    """Yields the context that a request of this operator would have. `operator` is only a name: no token proves it."""
    with connect(aws) as connections:
        factory = AdminContextFactory(
            settings=connections.settings,
            tables=connections.tables,
            publish_suspensions=connections.publish_suspensions,
        )
        yield factory.context(Operator(subject=operator, token_id="", expires_at=0), may_write=may_write)


@contextmanager
def connect_migrator(aws: AwsAccess) -> Iterator[MigratorAccess]:
    """Opens the connections of a command that runs as the migrator: the role that may move and delete items of tenants.
    Sends the log to stderr."""
    log.configure(as_json=False, file=sys.stderr)
    migrator = aws.connect_migrator()
    try:
        yield migrator
    finally:
        migrator.close()
