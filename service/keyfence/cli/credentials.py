"""`keyfence credentials`, `keyfence token`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.auth.principal import Role
from keyfence.cli.connection import Data
from keyfence.cli.gate import RULES
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT
from keyfence_iam.deployment import LOCAL_ACCOUNT, Deployment
from keyfence_iam.tenant import InvalidTenantId, parse_tenant_id

if TYPE_CHECKING:
    from keyfence_iam.gate.account.session import IssuedSession, SessionIssuer


SHORTEST, LONGEST = 900, 3600
"""SDKs ask for new ones when less than fifteen minutes are left: the shortest would be fetched for every call."""
ROLES = ("service-base", "control-plane", "suspender", "stream-worker", "migrator", "provisioner")

Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant to be.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="As the service is while it answers queries.")]
RoleName = Annotated[str | None, typer.Option(metavar="ROLE", help=f"Be one of {', '.join(ROLES)} instead.")]
AccountId = Annotated[str, typer.Option(metavar="ID", help="The account of the gate, where it has another one.")]
Duration = Annotated[int, typer.Option(metavar="SECONDS", help=f"How long, from {SHORTEST} to {LONGEST} seconds.")]


def credentials(
    tenant: Tenant = None,
    read_only: ReadOnly = False,
    role: RoleName = None,
    duration: Duration = LONGEST,
    account: AccountId = LOCAL_ACCOUNT,
    data: Data = DEFAULT,
) -> None:
    """Print a session for the gate of `keyfence dev` or `keyfence gate`, as AWS's credential_process wants it.

    In ~/.aws/config a profile with the line

      credential_process = keyfence credentials --tenant acme --data DIR

    makes the aws CLI and every SDK that tenant, and asks again before the session ends.

    [bold]Example:[/bold] keyfence credentials --tenant acme

    [bold]Example:[/bold] keyfence credentials --tenant acme --read-only --data .keyfence

    [bold]Example:[/bold] keyfence credentials --role control-plane --duration 900
    """
    _check(tenant=tenant, read_only=read_only, role=role, duration=duration)
    checked_account(account)
    typer.echo(_printed(_issued(sessions(data, account), tenant, role, duration, writes=not read_only)))


def _check(*, tenant: str | None, read_only: bool, role: str | None, duration: int) -> None:
    if (tenant is None) == (role is None):
        raise BadInput("Say either --tenant TENANT or --role ROLE.")
    if role is not None and role not in ROLES:
        raise BadInput(f"--role {role!r} is not one of {', '.join(ROLES)}.")
    if role is not None and read_only:
        raise BadInput("--read-only is for tenants: say it with --tenant.")
    if not SHORTEST <= duration <= LONGEST:
        raise BadInput(f"--duration must be between {SHORTEST} and {LONGEST} seconds.")


def checked_account(account: str) -> None:
    wanted, pattern = RULES["account"]
    if not pattern.fullmatch(account):
        raise BadInput(f"--account {account!r} must be {wanted}.")


def sessions(data: Path, account: str) -> "SessionIssuer":
    """Those of every gate with this key and this account; a key that no gate has would open nothing."""
    from keyfence.local.data_directory import GATE_KEY_FILE, gate_key
    from keyfence_iam.gate.account.account import Account
    from keyfence_iam.gate.account.session import SessionIssuer

    if not (data / GATE_KEY_FILE).exists():
        raise BadInput(
            f"There is no gate key in {data}: start `keyfence dev` or `keyfence gate` on that directory first."
        )
    return SessionIssuer(Account.of(Deployment(account=account)), gate_key(data))


def _issued(
    sessions: "SessionIssuer", tenant: str | None, role: str | None, seconds: int, *, writes: bool
) -> "IssuedSession":
    from keyfence.local import gate_access

    if role is not None:
        return gate_access.role_session(sessions, role, seconds=seconds)
    try:
        return gate_access.tenant_session(sessions, parse_tenant_id(tenant), writes=writes, seconds=seconds)
    except InvalidTenantId as error:
        raise BadInput(f"--tenant {tenant!r} is not a tenant id: {error}.") from error


def _printed(issued: "IssuedSession") -> str:
    from keyfence_iam.gate.account.session_token import iso_seconds

    return json.dumps(
        {
            "Version": 1,
            "AccessKeyId": issued.credentials.access_key,
            "SecretAccessKey": issued.credentials.secret_key,
            "SessionToken": issued.credentials.token,
            "Expiration": iso_seconds(issued.session.expires_at),
        }
    )


LONGEST_TTL = 30 * 86400
LONGEST_SUBJECT = 256

TokenTenant = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant that the token opens.")]
Admin = Annotated[bool, typer.Option("--admin", help="A token for operators instead.")]
User = Annotated[str | None, typer.Option(metavar="ID", help="Whose token it is; local-TENANT if left out.")]
TokenRole = Annotated[
    str | None, typer.Option(metavar="ROLE", help="OWNER, ADMIN, MEMBER or VIEWER; MEMBER if left out.")
]
Ttl = Annotated[int, typer.Option(metavar="SECONDS", help="How long it is good for.")]


def token(
    tenant: TokenTenant = None,
    admin: Admin = False,
    user: User = None,
    role: TokenRole = None,
    ttl: Ttl = 3600,
    data: Data = DEFAULT,
) -> None:
    """Print a token that `keyfence dev` accepts, and nothing else.

    [bold]Example:[/bold] keyfence token --tenant acme --role ADMIN

    [bold]Example:[/bold] keyfence token --admin --ttl 600
    """
    from keyfence.local.data_directory import data_directory
    from keyfence.local.issuer import local_issuer

    _check_token(tenant=tenant, admin=admin, user=user, ttl=ttl)
    rank = _role(role, admin=admin)
    issuer = local_issuer(data_directory(data))
    if tenant is None:
        typer.echo(issuer.admin_token(user=user or "local-operator", ttl=ttl))
    else:
        typer.echo(issuer.token(tenant=tenant, user=user or f"local-{tenant}", role=rank, ttl=ttl))


def _check_token(*, tenant: str | None, admin: bool, user: str | None, ttl: int) -> None:
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
        parse_tenant_id(tenant)
    except InvalidTenantId as error:
        raise BadInput(f"--tenant {tenant!r} is not a tenant id: {error}.") from error


def _role(text: str | None, *, admin: bool) -> Role:
    if admin and text is not None:
        raise BadInput("--role is for tenants' tokens: operators have none.")
    try:
        return Role.MEMBER if text is None else Role(text.upper())
    except ValueError as error:
        raise BadInput(f"--role {text!r} is not one of {', '.join(Role)}.") from error
