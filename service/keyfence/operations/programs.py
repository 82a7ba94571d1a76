"""Which program carries a migration on."""

from collections.abc import Callable
from datetime import timedelta

from keyfence.migrations.engine import Program
from keyfence.migrations.moving import Moving
from keyfence.migrations.resharding import Resharding
from keyfence.operations.migrator import Migrator
from keyfence.tenancy.differences import Differences
from keyfence.tenancy.migration import Kind, Migration
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.repository import Register


def program_of(
    migration: Migration, migrator: Migrator, *, settle: timedelta, told: Callable[[Tenant], None] = lambda _: None
) -> Program:
    """`settle` is how long after a change of the register somebody may still act on what it said."""
    match migration.kind:
        case Kind.KEYS:
            return migrator.rekeying
        case Kind.RESHARD:
            register = Register(migrator.control, migration.by)
            return Resharding(register=register, home=migrator.home, as_tenant=migrator.at, settle=settle, told=told)
        case Kind.MOVE:
            register = Register(migrator.control, migration.by)
            return Moving(
                register=register,
                differences=Differences(migrator.control),
                silos=migrator.silos,
                table_of=migrator.table_of,
                at=migrator.placed,
                at_both=migrator.at_both,
                settle=settle,
                told=told,
            )
