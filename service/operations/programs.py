"""Which program carries a migration on."""

from collections.abc import Callable, Mapping

from service.errors import Conflict
from service.migrations.engine import Program
from service.operations.migrator import Migrator
from service.tenancy.migration import Kind, Migration

PROGRAMS: Mapping[Kind, Callable[[Migrator], Program]] = {Kind.KEYS: lambda migrator: migrator.rekeying}


def program_of(migration: Migration, migrator: Migrator) -> Program:
    if (made := PROGRAMS.get(migration.kind)) is None:
        raise Conflict(f"a migration of kind {migration.kind} cannot be carried on here")
    return made(migrator)
