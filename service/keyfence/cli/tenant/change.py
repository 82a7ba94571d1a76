"""`keyfence tenant suspend`, `resume`, `rename`, `tier`, `origins` and `quotas`."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.operator_session import OperatorOption, OperatorSession, TenantArgument
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, parse_tenant_option
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence.store.codec import attribute_name
from keyfence.tenancy.tier_quotas import MAX_QUOTA, Tier
from keyfence_iam.tenant import TenantId

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.tenancy.tenant import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantCommand:
    """The arguments of every command that changes one tenant."""

    id: str
    operator: str | None
    data: Path
    endpoint_url: str | None
    json: bool

    def run(
        self,
        change: "Callable[[AdminContext, TenantId], Awaitable[Tenant]]",
        describe: "Callable[[Tenant], str]",
    ) -> None:
        """Changes the tenant, and prints the changed tenant as JSON or the text of `describe`."""
        tenant_id = parse_tenant_option(self.id, "TENANT")

        async def work(context: "AdminContext") -> "Tenant":
            return await change(context, tenant_id)

        changed = OperatorSession(self.data, self.endpoint_url).change(self.operator, tenant_id, work)
        self._print(changed, describe(changed))

    def _print(self, changed: "Tenant", text: str) -> None:
        from keyfence.cli.tenant_json import tenant_json
        from keyfence.cli.terminal_output import print_json
        from keyfence.settings import TENANT_CACHE_SECONDS

        if self.json:
            print_json(tenant_json(changed))
        else:
            seconds = f"{TENANT_CACHE_SECONDS:g} seconds, or within their KEYFENCE_TENANT_CACHE_SECONDS"
            typer.echo(f"{text}\nAll running servers use the change within {seconds}.")


def quotas_text(tenant: "Tenant") -> str:
    return ", ".join(f"{attribute_name(name)} {value:,}" for name, value in asdict(tenant.quotas).items())


ReasonOption = Annotated[
    str, typer.Option(metavar="TEXT", help="Why the tenant is suspended. Stored with the tenant and in its events.")
]
NameOption = Annotated[str, typer.Option(metavar="NAME", help="The new display name.")]
VersionOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Change the tenant only if it has this version, which `keyfence tenant show` prints."
    ),
]
TierNameArgument = Annotated[
    Tier,
    typer.Argument(metavar="TIER", case_sensitive=False, help=f"One of {', '.join(Tier)}.", show_default=False),
]


def suspend(
    id: TenantArgument,
    reason: ReasonOption,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Deny a tenant access: its requests are refused, and IAM denies its sessions, including those in use.

    No data is deleted; `keyfence tenant resume` ends the suspension. If the command failed halfway, run it again: it
    publishes the suspension to IAM again.

    [bold]Example:[/bold] keyfence tenant suspend acme --reason "unpaid since March"
    """
    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        lambda context, tenant_id: context.administration.suspend(tenant_id, reason),
        lambda tenant: f"{tenant.id} is suspended: {tenant.reason}\nIAM denies its sessions.",
    )


def resume(
    id: TenantArgument,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Serve a suspended tenant again.

    [bold]Example:[/bold] keyfence tenant resume acme
    """
    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        lambda context, tenant_id: context.administration.resume(tenant_id),
        lambda tenant: f"{tenant.id} is active again.\nIAM allows its sessions.",
    )


def rename(
    id: TenantArgument,
    name: NameOption,
    expected_version: VersionOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Change the display name of a tenant. Its id never changes.

    [bold]Example:[/bold] keyfence tenant rename acme --name "Acme and Daughters"
    """
    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        lambda context, tenant_id: context.administration.rename(tenant_id, name, expected_version=expected_version),
        lambda tenant: f"{tenant.id} has the name {tenant.name}.",
    )


def tier(
    id: TenantArgument,
    tier: TierNameArgument,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Move a tenant to another tier. Quotas set with `keyfence tenant quotas` stay as they are.

    [bold]Example:[/bold] keyfence tenant tier acme PREMIUM
    """
    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        lambda context, tenant_id: context.administration.set_tier(tenant_id, tier),
        lambda tenant: f"{tenant.id} is in the tier {tenant.tier}: {quotas_text(tenant)}.",
    )


OriginsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="ORIGIN ...", help="All origins of the tenant. Without one: none.", show_default=False),
]


def origins(
    id: TenantArgument,
    origins: OriginsArgument = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Allow web pages of these origins to call the API for one tenant. The list replaces the older one.

    Servers check these origins only if KEYFENCE_TENANT_ORIGINS is true.

    [bold]Example:[/bold] keyfence tenant origins acme https://app.acme.example https://beta.acme.example
    """
    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        lambda context, tenant_id: context.administration.set_origins(tenant_id, origins or []),
        lambda tenant: f"{tenant.id} has the origins {', '.join(sorted(tenant.origins)) or 'of the settings alone'}.",
    )


def _quota_option(description: str) -> Any:
    return typer.Option(min=1, max=MAX_QUOTA, metavar="N", show_default=False, help=description)


RequestsQuotaOption = Annotated[int | None, _quota_option("GraphQL requests in a second.")]
ReadUnitsQuotaOption = Annotated[int | None, _quota_option("DynamoDB read units in a second.")]
WriteUnitsQuotaOption = Annotated[int | None, _quota_option("DynamoDB write units in a second.")]
CpuQuotaOption = Annotated[int | None, _quota_option("Milliseconds of CPU time in a second, for parsing requests.")]
UsersQuotaOption = Annotated[int | None, _quota_option("Users of the tenant.")]
StorageQuotaOption = Annotated[int | None, _quota_option("Stored megabytes.")]


def quotas(
    id: TenantArgument,
    requests_per_second: RequestsQuotaOption = None,
    read_units_per_second: ReadUnitsQuotaOption = None,
    write_units_per_second: WriteUnitsQuotaOption = None,
    cpu_ms_per_second: CpuQuotaOption = None,
    users: UsersQuotaOption = None,
    storage_mb: StorageQuotaOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Set quotas of one tenant. They replace those of its tier. A quota that is left out stays as it is.

    [bold]Example:[/bold] keyfence tenant quotas acme --requests-per-second 500 --users 2000
    """
    options = {
        "requests_per_second": requests_per_second,
        "read_units_per_second": read_units_per_second,
        "write_units_per_second": write_units_per_second,
        "cpu_ms_per_second": cpu_ms_per_second,
        "users": users,
        "storage_mb": storage_mb,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    if not changes:
        raise BadInput(f"Set at least one quota, such as --users 2000. `keyfence tenant show {id}` shows all quotas.")
    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        lambda context, tenant_id: context.administration.set_quotas(tenant_id, changes),
        lambda tenant: f"{tenant.id} has the quotas {quotas_text(tenant)}.",
    )
