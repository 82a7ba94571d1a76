"""keyfence token: a token of the local issuer."""

from typing import Annotated

import typer

from keyfence.auth.role import Role
from keyfence.cli.options import Data
from keyfence.errors import BadInput
from keyfence.local.directory import DEFAULT
from keyfence_iam.boundary import BadTenantId, tenant_id

LONGEST_TTL = 30 * 86400
LONGEST_SUBJECT = 256

Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant that the token opens.")]
Admin = Annotated[bool, typer.Option("--admin", help="A token for operators instead.")]
User = Annotated[str | None, typer.Option(metavar="ID", help="Whose token it is; local-TENANT if left out.")]
RoleName = Annotated[
    str | None, typer.Option(metavar="ROLE", help="OWNER, ADMIN, MEMBER or VIEWER; MEMBER if left out.")
]
Ttl = Annotated[int, typer.Option(metavar="SECONDS", help="How long it is good for.")]


def token(
    tenant: Tenant = None,
    admin: Admin = False,
    user: User = None,
    role: RoleName = None,
    ttl: Ttl = 3600,
    data: Data = DEFAULT,
) -> None:
    """Print a token that `keyfence dev` accepts, and nothing else.

    [bold]Example:[/bold] keyfence token --tenant acme --role ADMIN

    [bold]Example:[/bold] keyfence token --admin --ttl 600
    """
    from keyfence.local.directory import data_directory
    from keyfence.local.issuer import local_issuer

    _check(tenant=tenant, admin=admin, user=user, ttl=ttl)
    rank = _role(role, admin=admin)
    issuer = local_issuer(data_directory(data))
    if tenant is None:
        typer.echo(issuer.admin_token(user=user or "local-operator", ttl=ttl))
    else:
        typer.echo(issuer.token(tenant=tenant, user=user or f"local-{tenant}", role=rank, ttl=ttl))


def _check(*, tenant: str | None, admin: bool, user: str | None, ttl: int) -> None:
    if (tenant is None) != admin:
        raise BadInput("Say either --tenant TENANT or --admin.")
    if tenant is not None:
        _check_tenant(tenant)
    if user is not None and not (0 < len(user) <= LONGEST_SUBJECT and user.isprintable()):
        raise BadInput(f"--user must be 1 to {LONGEST_SUBJECT} printable characters.")
    if not 1 <= ttl <= LONGEST_TTL:
        raise BadInput(f"--ttl must be between 1 and {LONGEST_TTL} seconds.")


def _check_tenant(tenant: str) -> None:
    try:
        tenant_id(tenant)
    except BadTenantId as error:
        raise BadInput(f"--tenant {tenant!r} is not a tenant id: {error}.") from error


def _role(text: str | None, *, admin: bool) -> Role:
    if admin and text is not None:
        raise BadInput("--role is for tenants' tokens: operators have none.")
    try:
        return Role.MEMBER if text is None else Role(text.upper())
    except ValueError as error:
        raise BadInput(f"--role {text!r} is not one of {', '.join(Role)}.") from error
