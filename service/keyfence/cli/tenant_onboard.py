"""keyfence tenant onboard: a tenant, its identity provider and its first user."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_desk import Desk, Id, Json, checked_id
from keyfence.cli.tenant_keys import Jwks, JwksUri, given_keys
from keyfence.cli.tenant_operator import By
from keyfence.local.directory import DEFAULT
from keyfence.tenancy.quotas import Tier

if TYPE_CHECKING:
    from keyfence.admin.context import Context
    from keyfence.operations.onboarding import Onboarded

Name = Annotated[str, typer.Option(metavar="NAME", help="What the tenant is called.")]
TierName = Annotated[Tier, typer.Option(case_sensitive=False, help="What it pays for.")]
OwnerEmail = Annotated[str, typer.Option(metavar="EMAIL", help="The first user, who is an OWNER.")]
OwnerName = Annotated[str, typer.Option(metavar="NAME", help="What the first user is called.")]
Issuer = Annotated[str, typer.Option(metavar="URL", help="The `iss` of the tenant's tokens, spelled as they do.")]


def onboard(
    id: Id,
    name: Name,
    owner_email: OwnerEmail,
    owner_name: OwnerName,
    issuer: Issuer,
    jwks: Jwks = None,
    jwks_uri: JwksUri = None,
    tier: TierName = Tier.STANDARD,
    by: By = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Let a tenant in: claim its id and its issuer, write its owner, and serve it.

    The same command again, after an interruption too, goes on where it stopped and answers with the same tenant.

    [bold]Example:[/bold] keyfence tenant onboard initech --name Initech --owner-email owner@initech.example
    --owner-name "First Owner" --issuer https://id.initech.example --jwks-uri https://id.initech.example/keys

    [bold]Example:[/bold] keyfence tenant onboard initech --name Initech --tier premium
    --owner-email owner@initech.example --owner-name "First Owner" --issuer https://id.initech.example --jwks keys.json
    """
    from keyfence.operations.application import Application

    wanted = Application(
        id=checked_id(id),
        name=name,
        tier=tier,
        owner_email=owner_email,
        owner_name=owner_name,
        issuer=issuer,
        jwks=given_keys(jwks, jwks_uri),
        jwks_uri=jwks_uri,
    )

    async def work(desk: "Context") -> "Onboarded":
        return await desk.onboarding(wanted)

    _tell(Desk(data, endpoint_url).change(by, wanted.id, work), as_json=json)


def _tell(onboarded: "Onboarded", *, as_json: bool) -> None:
    from keyfence.cli.tenant_json import echo, tenant_json

    tenant, owner = onboarded.tenant, onboarded.owner
    if as_json:
        shown = {"id": owner.id, "email": owner.email, "name": owner.name, "role": owner.role}
        echo({"created": onboarded.created, "tenant": tenant_json(tenant), "owner": shown})
        return
    how = "is onboarded" if onboarded.created else "was there already, by the same request"
    typer.echo(f"{tenant.id} {how}: {tenant.name}, {tenant.tier}, {tenant.status}.")
    typer.echo(f"Its owner is {owner.name} <{owner.email}>, the user {owner.id}.")
    typer.echo(f"Its tokens come from {tenant.issuer} and name the tenant {tenant.id}.")
