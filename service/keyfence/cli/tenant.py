"""keyfence tenant: what operators do with tenants, at the table itself."""

import typer

from keyfence.cli.tenant_keys import keys
from keyfence.cli.tenant_list import list_
from keyfence.cli.tenant_offboard import offboard
from keyfence.cli.tenant_onboard import onboard
from keyfence.cli.tenant_quotas import quotas
from keyfence.cli.tenant_show import show
from keyfence.cli.tenant_standing import rename, resume, suspend, tier
from keyfence.cli.tenant_usage import usage
from keyfence.cli.tenant_verify import verify
from keyfence.cli.tenant_weigh import weigh

tenant = typer.Typer(
    name="tenant",
    help="Tenants: list them, let them in, change them, shut them out, see them off.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

tenant.command("list")(list_)

for command in (show, onboard, suspend, resume, rename, keys, tier, quotas, usage, weigh, offboard, verify):
    tenant.command()(command)
