"""keyfence tenant: what operators do with tenants, at the table itself."""

import typer

from service.cli.tenant_keys import keys
from service.cli.tenant_list import list_
from service.cli.tenant_offboard import offboard
from service.cli.tenant_onboard import onboard
from service.cli.tenant_quotas import quotas
from service.cli.tenant_show import show
from service.cli.tenant_standing import rename, resume, suspend, tier
from service.cli.tenant_usage import usage
from service.cli.tenant_verify import verify
from service.cli.tenant_weigh import weigh

tenant = typer.Typer(
    name="tenant",
    help="Tenants: list them, let them in, change them, shut them out, see them off.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

tenant.command("list")(list_)

for command in (show, onboard, suspend, resume, rename, keys, tier, quotas, usage, weigh, offboard, verify):
    tenant.command()(command)
