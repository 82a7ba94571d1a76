"""`keyfence tenant`: the commands with which operators manage tenants."""

import typer

from keyfence.cli.tenant.change import origins, quotas, rename, resume, suspend, tier
from keyfence.cli.tenant.list_show import list_, show
from keyfence.cli.tenant.offboard import offboard
from keyfence.cli.tenant.onboard import keys, onboard
from keyfence.cli.tenant.usage import measure, usage
from keyfence.cli.tenant.verify import verify

tenant = typer.Typer(
    name="tenant",
    help="Manage tenants. On a laptop `keyfence dev` must run; on AWS most commands need the role `service-base`.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

tenant.command("list")(list_)

for command in (show, onboard, suspend, resume, rename, keys, origins, tier, quotas, usage, measure, offboard, verify):
    tenant.command()(command)
