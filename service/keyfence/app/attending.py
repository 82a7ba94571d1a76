"""What a server carries on by itself: with the register what needs no more, with the migrator everything."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from keyfence.jobs.job import Kind, Migration
from keyfence.jobs.lease import Records
from keyfence.jobs.migrator import Migrator, program_of
from keyfence.jobs.reshard.job import Resharding
from keyfence.jobs.reshard.start import Way
from keyfence.jobs.runner import Attendant, Means, carry_on
from keyfence.settings import Settings
from keyfence.store.scan import Sweep
from keyfence.store.tables import Tables
from keyfence.tenancy.repository import Register
from keyfence.tenancy.tenant import Tenant


def attendant(
    settings: Settings, tables: Tables, told: Callable[[Tenant], None], migrator: Migrator | None
) -> Attendant:
    settle = timedelta(seconds=settings.settle_seconds)

    async def attend(migration: Migration) -> None:
        if migrator:
            program = program_of(migration, migrator, settle=settle, told=told)
            await carry_on(migrator.migrations(rate=settings.migration_units_per_second), migration.id, program)
        elif _moves_nothing(migration):
            control = tables.control(writes=True)
            register = Register(control, migration.by)
            growing = Resharding(register=register, home=_nowhere, as_tenant=_nowhere, settle=settle, told=told)
            await carry_on(Means(records=Records(control), sweep=Sweep(control.caller)), migration.id, growing)

    return Attendant(attend)


def _moves_nothing(migration: Migration) -> bool:
    return migration.kind is Kind.RESHARD and orjson.loads(migration.detail)["way"] == Way.GROW


def _nowhere(_: object) -> Any:
    raise TypeError("a server has no way to the items of its tenants but their own requests")
