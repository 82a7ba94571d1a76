"""keyfence tenant weigh: what each tenant stores."""

import json as plain
from typing import TYPE_CHECKING

import typer

from keyfence.cli.migrating import AsJson, UnitRate, migrating
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from keyfence.operations.weighing import Weight
    from keyfence_iam.boundary import TenantId


def weigh(rate: UnitRate = None, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Sum what each tenant stores, as DynamoDB counts it, and write it into the register.

    It scans the whole table and those that tenants have of their own, on AWS as the migrator. Run it from time to
    time: quotas of storage go by it.

    [bold]Example:[/bold] keyfence tenant weigh

    [bold]Example:[/bold] keyfence tenant weigh --rate 500 --json
    """
    import asyncio

    from keyfence.cli.progress import counted
    from keyfence.operations.weighing import Weighing

    with migrating(data, endpoint_url) as (migrator, settings), counted("weighing every item") as tell:
        pace = rate or settings.migration_units_per_second
        weights = asyncio.run(Weighing(migrator.sweep, migrator.sweep_of, migrator.control, pace, tell)())
    if json:
        told = {tenant: {"items": one.items, "bytes": one.bytes} for tenant, one in weights.items()}
        typer.echo(plain.dumps(told))
    else:
        _show(weights)


def _show(weights: "Mapping[TenantId, Weight]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("tenant", box=None)
    for heading in ("items", "bytes"):
        table.add_column(heading, justify="right")
    for tenant, one in sorted(weights.items(), key=lambda entry: -entry[1].bytes):
        table.add_row(tenant, f"{one.items:,}", f"{one.bytes:,}")
    Console().print(table)
