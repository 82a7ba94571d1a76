"""`onboard`, `keys`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.operator_session import By, Id, OperatorSession
from keyfence.cli.table_connection import Data, EndpointUrl, Json, parse_tenant_option
from keyfence.cli.tenant.change import TenantChange
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT
from keyfence.tenancy.tier_quotas import Tier

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.admin.onboarding import OnboardingResult
    from keyfence.tenancy.tenant import Tenant
    from keyfence_iam.tenant import TenantId


Jwks = Annotated[
    str | None, typer.Option(metavar="FILE", help="The issuer's public keys, a JSON Web Key Set; - is stdin.")
]
JwksUri = Annotated[str | None, typer.Option(metavar="URL", help="Where the issuer publishes them, by https.")]


def keys(
    id: Id,
    jwks: Jwks = None,
    jwks_uri: JwksUri = None,
    by: By = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Give a tenant's issuer other keys: all that are good from now on, or where they are published.

    To change keys without refusing anybody, name the old and the new ones first, and leave the old ones out when all
    tokens that they signed have expired. At an address of its own the issuer does that alone.

    [bold]Example:[/bold] keyfence tenant keys initech --jwks keys.json

    [bold]Example:[/bold] keyfence tenant keys initech --jwks-uri https://id.initech.example/keys
    """
    given = given_keys(jwks, jwks_uri)

    async def rotated(desk: "AdminContext", tenant: "TenantId") -> "Tenant":
        return await desk.rotation(tenant, given, jwks_uri)

    TenantChange(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        rotated, lambda one: f"{one.issuer} has the keys that were given, for {one.id}."
    )


def given_keys(name: str | None, uri: str | None) -> dict[str, Any] | None:
    if (name is None) == (uri is None):
        raise BadInput("Say where the issuer's keys are: either --jwks FILE or --jwks-uri URL.")
    if name is None:
        return None
    found = _read(name)
    if not isinstance(found, dict):
        raise BadInput(f'{name} is not a key set: it should read {{"keys": [...]}}.')
    return found


def _read(name: str) -> object:
    import json

    try:
        return json.loads(sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes())
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise BadInput(f"{name} is not JSON: {error}.") from error


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
    from keyfence.admin.onboarding import OnboardingRequest

    wanted = OnboardingRequest(
        id=parse_tenant_option(id, "TENANT"),
        name=name,
        tier=tier,
        owner_email=owner_email,
        owner_name=owner_name,
        issuer=issuer,
        jwks=given_keys(jwks, jwks_uri),
        jwks_uri=jwks_uri,
    )

    async def work(desk: "AdminContext") -> "OnboardingResult":
        return await desk.onboarding(wanted)

    _tell(OperatorSession(data, endpoint_url).change(by, wanted.id, work), as_json=json)


def _tell(onboarded: "OnboardingResult", *, as_json: bool) -> None:
    from keyfence.cli.terminal_output import print_json, tenant_json

    tenant, owner = onboarded.tenant, onboarded.owner
    if as_json:
        shown = {"id": owner.id, "email": owner.email, "name": owner.name, "role": owner.role}
        print_json({"created": onboarded.created, "tenant": tenant_json(tenant), "owner": shown})
        return
    how = "is onboarded" if onboarded.created else "was there already, by the same request"
    typer.echo(f"{tenant.id} {how}: {tenant.name}, {tenant.tier}, {tenant.status}.")
    typer.echo(f"Its owner is {owner.name} <{owner.email}>, the user {owner.id}.")
    typer.echo(f"Its tokens come from {tenant.issuer} and name the tenant {tenant.id}.")
