"""`suspend`, `resume`, `rename`, `tier`, `quotas`."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.operator_session import By, Id, OperatorSession
from keyfence.cli.table_connection import Data, EndpointUrl, Json, parse_tenant_option
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT
from keyfence.store.codec import attribute_name
from keyfence.tenancy.tier_quotas import LARGEST, Tier
from keyfence_iam.tenant import TenantId

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.tenancy.tenant import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantChange:
    """Of which tenant, by whom, and where."""

    id: str
    by: str | None
    data: Path
    endpoint_url: str | None
    json: bool

    def make(
        self, change: "Callable[[AdminContext, TenantId], Awaitable[Tenant]]", told: "Callable[[Tenant], str]"
    ) -> None:
        tenant = parse_tenant_option(self.id, "TENANT")

        async def work(desk: "AdminContext") -> "Tenant":
            return await change(desk, tenant)

        changed = OperatorSession(self.data, self.endpoint_url).change(self.by, tenant, work)
        self._tell(changed, told(changed))

    def _tell(self, changed: "Tenant", told: str) -> None:
        from keyfence.cli.terminal_output import print_json, tenant_json
        from keyfence.settings import TENANT_CACHE_SECONDS

        if self.json:
            print_json(tenant_json(changed))
        else:
            typer.echo(f"{told}\nServers that are running know it within {TENANT_CACHE_SECONDS:g} seconds.")


def allowance(tenant: "Tenant") -> str:
    return ", ".join(f"{attribute_name(name)} {value:,}" for name, value in asdict(tenant.quotas).items())


Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the events and for whoever asks.")]
Name = Annotated[str, typer.Option(metavar="NAME", help="What it is called from now on.")]
Version = Annotated[
    int | None, typer.Option(metavar="N", help="Only if the tenant is at this version, which `show` tells.")
]
TierName = Annotated[
    Tier,
    typer.Argument(metavar="TIER", case_sensitive=False, help=f"One of {', '.join(Tier)}.", show_default=False),
]


def suspend(
    id: Id, reason: Reason, by: By = None, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Shut a tenant out: no request of it is served and no session of it works, not even those in use.

    Nothing of it is lost. Asked again it makes sure that the fence knows.

    [bold]Example:[/bold] keyfence tenant suspend acme --reason "unpaid since March"
    """
    TenantChange(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.administration.suspend(tenant, reason),
        lambda one: f"{one.id} is suspended: {one.reason}\nThe fence was told to refuse its sessions.",
    )


def resume(id: Id, by: By = None, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Serve a suspended tenant again.

    [bold]Example:[/bold] keyfence tenant resume acme
    """
    TenantChange(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.administration.resume(tenant),
        lambda one: f"{one.id} is to be served.\nThe fence was told to let its sessions in.",
    )


def rename(
    id: Id,
    name: Name,
    expected_version: Version = None,
    by: By = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Give a tenant another name. Its id stays for ever.

    [bold]Example:[/bold] keyfence tenant rename acme --name "Acme and Daughters"
    """
    TenantChange(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.administration.rename(tenant, name, expected_version=expected_version),
        lambda one: f"{one.id} is called {one.name}.",
    )


def tier(
    id: Id, tier: TierName, by: By = None, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Move a tenant to another tier. Quotas that were agreed with it alone stay as they are.

    [bold]Example:[/bold] keyfence tenant tier acme PREMIUM
    """
    TenantChange(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.administration.set_tier(tenant, tier),
        lambda one: f"{one.id} is in the tier {one.tier}: {allowance(one)}.",
    )


Quota = Annotated[int | None, typer.Option(min=1, max=LARGEST, metavar="N", show_default=False)]


def quotas(
    id: Id,
    requests_per_second: Quota = None,
    read_units_per_second: Quota = None,
    write_units_per_second: Quota = None,
    users: Quota = None,
    storage_mb: Quota = None,
    by: By = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Agree on quotas with one tenant alone, whatever its tier. What is left out stays as it is.

    [bold]Example:[/bold] keyfence tenant quotas acme --requests-per-second 500 --users 2000
    """
    named = {
        "requests_per_second": requests_per_second,
        "read_units_per_second": read_units_per_second,
        "write_units_per_second": write_units_per_second,
        "users": users,
        "storage_mb": storage_mb,
    }
    given = {name: value for name, value in named.items() if value is not None}
    if not given:
        raise BadInput(f"Name at least one quota, such as --users 2000. `keyfence tenant show {id}` shows them.")
    TenantChange(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.administration.set_quotas(tenant, given),
        lambda one: f"{one.id} may use {allowance(one)}.",
    )
