"""keyfence tenant keys: other keys for a tenant's issuer."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_change import Change
from keyfence.cli.tenant_desk import Id, Json
from keyfence.cli.tenant_operator import By
from keyfence.errors import BadInput
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.admin.context import Context
    from keyfence.tenancy.model import Tenant
    from keyfence_iam.boundary import TenantId

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

    async def rotated(desk: "Context", tenant: "TenantId") -> "Tenant":
        return await desk.rotation(tenant, given, jwks_uri)

    Change(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
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
