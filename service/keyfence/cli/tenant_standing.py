"""keyfence tenant suspend, resume, rename and tier: changes of a tenant that stays."""

from typing import Annotated

import typer

from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_change import Change, allowance
from keyfence.cli.tenant_desk import Id, Json
from keyfence.cli.tenant_operator import By
from keyfence.local.directory import DEFAULT
from keyfence.tenancy.quotas import Tier

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
    Change(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.standing.suspend(tenant, reason),
        lambda one: f"{one.id} is suspended: {one.reason}\nThe fence was told to refuse its sessions.",
    )


def resume(id: Id, by: By = None, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Serve a suspended tenant again.

    [bold]Example:[/bold] keyfence tenant resume acme
    """
    Change(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.standing.resume(tenant),
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
    Change(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.standing.rename(tenant, name, expected_version=expected_version),
        lambda one: f"{one.id} is called {one.name}.",
    )


def tier(
    id: Id, tier: TierName, by: By = None, json: Json = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Move a tenant to another tier. Quotas that were agreed with it alone stay as they are.

    [bold]Example:[/bold] keyfence tenant tier acme PREMIUM
    """
    Change(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.standing.set_tier(tenant, tier),
        lambda one: f"{one.id} is in the tier {one.tier}: {allowance(one)}.",
    )
