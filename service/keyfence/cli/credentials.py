"""`keyfence credentials`, `keyfence token`, `keyfence jwks`: how a laptop's user becomes a tenant or an operator."""

import json as encoding
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.auth.principal import Role
from keyfence.cli.table_connection import DataOption, JsonOption, parse_tenant_option
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence_iam.deployment import LOCAL_ACCOUNT, Deployment

if TYPE_CHECKING:
    from keyfence_iam.gate.account.session import IssuedSession, SessionIssuer


MIN_DURATION, MAX_DURATION = 900, 3600
"""SDKs renew a session that ends within fifteen minutes: with the minimum they run the command for every call."""
ROLES = ("service-base", "control-plane", "suspender", "stream-worker", "migrator", "provisioner")
MAX_TTL = 30 * 86400
MAX_USER = 256

TenantOption = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant whose session is printed.")]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="A session of the role that only reads.")]
RoleNameOption = Annotated[str | None, typer.Option(metavar="ROLE", help=f"Instead of a tenant: {', '.join(ROLES)}.")]
AccountIdOption = Annotated[
    str | None, typer.Option(metavar="ID", help="The gate's AWS account. Default: that of the last gate.")
]
DurationOption = Annotated[
    int, typer.Option(metavar="SECONDS", help=f"How long the session is valid: {MIN_DURATION} to {MAX_DURATION}.")
]
EnvOption = Annotated[
    bool, typer.Option("--env", help="Print `export` lines for a shell instead: the keys, region and gate of AWS SDKs.")
]
TokenTenantOption = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant of the token.")]
AdminOption = Annotated[bool, typer.Option("--admin", help="A token for /admin/graphql instead of a tenant's.")]
UserOption = Annotated[str | None, typer.Option(metavar="ID", help="The token's subject. Default: local-TENANT.")]
TokenRoleOption = Annotated[
    str | None, typer.Option(metavar="ROLE", help="OWNER, ADMIN, MEMBER or VIEWER. Default: MEMBER.")
]
TtlOption = Annotated[int, typer.Option(metavar="SECONDS", help="How long the token is valid.")]
IssuerOption = Annotated[str, typer.Option(metavar="URL", help="The `iss` claim of the issuer's tokens.")]
TokenIssuerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Sign with the key that `keyfence jwks` created for this issuer.")
]


def credentials(
    tenant: TenantOption = None,
    read_only: ReadOnlyOption = False,
    role: RoleNameOption = None,
    duration: DurationOption = MAX_DURATION,
    account: AccountIdOption = None,
    env: EnvOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
) -> None:
    """Print AWS credentials for the local gate, as JSON for credential_process.

    With this line in a profile of ~/.aws/config, the aws CLI and every SDK act as the tenant, and run the command
    again before the session ends:

      credential_process = keyfence credentials --tenant acme --data DIR

    [bold]Example:[/bold] keyfence credentials --tenant acme

    [bold]Example:[/bold] keyfence credentials --tenant acme --read-only --data .keyfence

    [bold]Example:[/bold] keyfence credentials --role control-plane --duration 900

    [bold]Example:[/bold] eval "$(keyfence credentials --tenant acme --env)"
    """
    _check_credentials(tenant=tenant, read_only=read_only, role=role, duration=duration)
    issued = _issue(local_sessions(data, account), tenant, role, duration, writes=not read_only)
    typer.echo(_export_lines(issued, data) if env else _credential_process_json(issued))


def token(
    tenant: TokenTenantOption = None,
    admin: AdminOption = False,
    user: UserOption = None,
    role: TokenRoleOption = None,
    ttl: TtlOption = 3600,
    issuer: TokenIssuerOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
) -> None:
    """Print a token that `keyfence dev` accepts.

    [bold]Example:[/bold] keyfence token --tenant acme --role ADMIN

    [bold]Example:[/bold] keyfence token --admin --ttl 600

    [bold]Example:[/bold] keyfence token --tenant initech --issuer https://id.initech.example
    """
    from keyfence.local.data_directory import data_directory
    from keyfence.local.development_issuer import find_tenant_issuer, load_development_issuer

    _check_token(tenant=tenant, admin=admin, user=user, ttl=ttl, issuer=issuer)
    parsed_role = _parse_role(role, admin=admin)
    signer = find_tenant_issuer(data, issuer) if issuer else load_development_issuer(data_directory(data))
    if tenant is None:
        text = signer.admin_token(user=user or "local-operator", ttl=ttl)
    else:
        text = signer.token(tenant=tenant, user=user or f"local-{tenant}", role=parsed_role, ttl=ttl)
    typer.echo(encoding.dumps({"token": text, "expiresIn": ttl}) if json else text)


def jwks(issuer: IssuerOption, data: DataOption = DEFAULT_DIRECTORY) -> None:
    """Create a signing key for a tenant's own issuer and print its public part, a JSON Web Key Set.

    The private key stays in the data directory. The same issuer always gets the same key. These three lines onboard a
    tenant on a laptop and print a token of it:

      keyfence jwks --issuer https://id.initech.example > keys.json

      keyfence tenant onboard initech --name Initech --owner-email owner@initech.example
      --owner-name "First Owner" --issuer https://id.initech.example --jwks keys.json

      keyfence token --tenant initech --issuer https://id.initech.example

    [bold]Example:[/bold] keyfence jwks --issuer https://id.initech.example > keys.json
    """
    from keyfence.auth.issuer import is_issuer_url
    from keyfence.local.data_directory import data_directory
    from keyfence.local.development_issuer import create_tenant_issuer

    if not is_issuer_url(issuer):
        raise BadInput(f"--issuer {issuer!r} is not an https:// URL without query and fragment.")
    typer.echo(encoding.dumps(create_tenant_issuer(data_directory(data), issuer).jwks(), indent=2))


def local_sessions(data: Path, account: str | None) -> "SessionIssuer":
    """Returns the issuer of sessions for gates on this data directory that play this AWS account."""
    from keyfence.cli.deployment_options import check_deployment_options
    from keyfence.local.data_directory import find_gate_record
    from keyfence.local.gate_access import session_issuer

    if account is not None:
        check_deployment_options(account=account)
    record = find_gate_record(data)
    return session_issuer(data, Deployment(account=account or (record.account if record else LOCAL_ACCOUNT)))


def _check_credentials(*, tenant: str | None, read_only: bool, role: str | None, duration: int) -> None:
    if (tenant is None) == (role is None):
        raise BadInput("Use either --tenant TENANT or --role ROLE.")
    if role is not None and role not in ROLES:
        raise BadInput(f"--role {role!r} is not one of {', '.join(ROLES)}.")
    if role is not None and read_only:
        raise BadInput("--read-only needs --tenant.")
    if not MIN_DURATION <= duration <= MAX_DURATION:
        raise BadInput(f"--duration must be between {MIN_DURATION} and {MAX_DURATION} seconds.")


def _issue(
    issuer: "SessionIssuer", tenant: str | None, role: str | None, seconds: int, *, writes: bool
) -> "IssuedSession":
    from keyfence.local import gate_access

    if role is not None:
        return gate_access.role_session(issuer, role, seconds=seconds)
    id = parse_tenant_option(tenant or "")
    return gate_access.tenant_session(issuer, id, writes=writes, seconds=seconds)


def _credential_process_json(issued: "IssuedSession") -> str:
    from keyfence_iam.gate.account.session_token import iso_seconds

    return encoding.dumps(
        {
            "Version": 1,
            "AccessKeyId": issued.credentials.access_key,
            "SecretAccessKey": issued.credentials.secret_key,
            "SessionToken": issued.credentials.token,
            "Expiration": iso_seconds(issued.session.expires_at),
        }
    )


def _export_lines(issued: "IssuedSession", data: Path) -> str:
    """Returns lines for a POSIX shell. Raises BadInput if no gate was started on the data directory."""
    from keyfence.local.data_directory import find_gate_record

    record = find_gate_record(data)
    if record is None:
        raise BadInput(f"No gate was started on {data}: start `keyfence dev` or `keyfence gate` first.")
    variables = {
        "AWS_ACCESS_KEY_ID": issued.credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": issued.credentials.secret_key,
        "AWS_SESSION_TOKEN": issued.credentials.token,
        "AWS_DEFAULT_REGION": record.region,
        "AWS_REGION": record.region,
        "AWS_ENDPOINT_URL": record.url,
    }
    return "\n".join(f"export {name}={shlex.quote(value or '')}" for name, value in variables.items())


def _check_token(*, tenant: str | None, admin: bool, user: str | None, ttl: int, issuer: str | None) -> None:
    if (tenant is None) != admin:
        raise BadInput("Use either --tenant TENANT or --admin.")
    if tenant is not None:
        parse_tenant_option(tenant)
    if admin and issuer is not None:
        raise BadInput("--issuer needs --tenant: tokens of operators come from the local issuer.")
    if user is not None and not (0 < len(user) <= MAX_USER and user.isprintable()):
        raise BadInput(f"--user must be 1 to {MAX_USER} printable characters.")
    if not 1 <= ttl <= MAX_TTL:
        raise BadInput(f"--ttl must be between 1 and {MAX_TTL} seconds.")


def _parse_role(text: str | None, *, admin: bool) -> Role:
    if admin and text is not None:
        raise BadInput("--role needs --tenant: tokens of operators have no role.")
    try:
        return Role.MEMBER if text is None else Role(text.upper())
    except ValueError as error:
        raise BadInput(f"--role {text!r} is not one of {', '.join(Role)}.") from error
