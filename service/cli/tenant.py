"""keyfence tenant: what operators do with tenants, at the table itself."""

from collections.abc import Callable
from typing import Any

import typer

from service.cli.tenant_offboard import offboard
from service.cli.tenant_verify import verify
from service.cli.tenant_weigh import weigh

COMMANDS: tuple[Callable[..., Any], ...] = (offboard, verify, weigh)

tenant = typer.Typer(
    name="tenant",
    help="Tenants: list them, let them in, change them, shut them out.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in COMMANDS:
    tenant.command(command.__name__.rstrip("_"))(command)
