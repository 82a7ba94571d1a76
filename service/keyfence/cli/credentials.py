"""`keyfence credentials`, `keyfence token` and `keyfence jwks`: credentials for the local gate, tokens for the API."""

import json as json_module
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


MIN_SESSION_SECONDS, MAX_SESSION_SECONDS = 900, 3600
"""The limits of STS. SDKs renew a session that ends within 15 minutes, so they renew one of 900 seconds for every
call."""
SYSTEM_ROLES = ("service-base", "control-plane", "suspender", "stream-worker", "migrator", "provisioner")
MAX_TOKEN_SECONDS = 30 * 86400
MAX_USER_LENGTH = 256

TenantOption = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant whose session is printed.")]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="With --tenant: a session that can only read.")]
RoleNameOption = Annotated[
    str | None,
    typer.Option(metavar="ROLE", help=f"Instead of --tenant, a role of the service: {', '.join(SYSTEM_ROLES)}."),
]
AccountIdOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="The gate's AWS account. Default: the account of the last gate on the data directory."
    ),
]
DurationOption = Annotated[
    int,
    typer.Option(
        metavar="SECONDS", help=f"How long the session is valid: {MIN_SESSION_SECONDS} to {MAX_SESSION_SECONDS}."
    ),
]
EnvOption = Annotated[
    bool,
    typer.Option(
        "--env", help="Print `export` lines for a shell instead of JSON: credentials, region and the gate's address."
    ),
]
TokenTenantOption = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant of the token.")]
AdminOption = Annotated[
    bool, typer.Option("--admin", help="Instead of --tenant: a token of an operator, for /admin/graphql.")
]
UserOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="The user in the token, its `sub` claim. Default: local-TENANT, or local-operator."
    ),
]
TokenRoleOption = Annotated[
    str | None, typer.Option(metavar="ROLE", help="The user's role: OWNER, ADMIN, MEMBER or VIEWER. Default: MEMBER.")
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
    duration: DurationOption = MAX_SESSION_SECONDS,
    account: AccountIdOption = None,
    env: EnvOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
) -> None:
    """Print AWS credentials of a tenant or a role for the local gate, as JSON for credential_process.

    The data directory must belong to a gate. The gate need not run. With this line in a profile of ~/.aws/config, the
    aws CLI and every SDK act as the tenant, and run the command again before the session ends:

      credential_process = keyfence credentials --tenant acme --data DIR

    [bold]Example:[/bold] keyfence credentials --tenant acme

    [bold]Example:[/bold] keyfence credentials --tenant acme --read-only --data .keyfence

    [bold]Example:[/bold] keyfence credentials --role control-plane --duration 900

    [bold]Example:[/bold] eval "$(keyfence credentials --tenant acme --env)"
    """
    _check_credentials_options(tenant=tenant, read_only=read_only, role=role, duration=duration)
    session = _issue_session(local_session_issuer(data, account), tenant, role, duration, may_write=not read_only)
    typer.echo(_export_lines(session, data) if env else _credential_process_json(session))


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
    """Print a token for the GraphQL API of `keyfence dev` on the same data directory.

    Production refuses these tokens. The tenant need not exist when the token is made.

    [bold]Example:[/bold] keyfence token --tenant acme --role ADMIN

    [bold]Example:[/bold] keyfence token --admin --ttl 600

    [bold]Example:[/bold] keyfence token --tenant initech --issuer https://id.initech.example
    """
    from keyfence.local.data_directory import data_directory
    from keyfence.local.development_issuer import get_tenant_issuer, load_development_issuer

    _check_token_options(tenant=tenant, admin=admin, user=user, ttl=ttl, issuer=issuer)
    parsed_role = _parse_role(role, admin=admin)
    signer = get_tenant_issuer(data, issuer) if issuer else load_development_issuer(data_directory(data))
    if tenant is None:
        signed = signer.admin_token(user=user or "local-operator", ttl=ttl)
    else:
        signed = signer.token(tenant=tenant, user=user or f"local-{tenant}", role=parsed_role, ttl=ttl)
    typer.echo(json_module.dumps({"token": signed, "expiresIn": ttl}) if json else signed)


def jwks(issuer: IssuerOption, data: DataOption = DEFAULT_DIRECTORY) -> None:
    """Create a development key for a tenant's own token issuer, and print its public part, a JSON Web Key Set.

    The private key stays in the data directory. The same issuer always gets the same key. Production refuses the key.
    With `keyfence dev` running, these three commands onboard a tenant and print a token for it:

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
        raise BadInput(f"--issuer {issuer!r} must be an https:// URL that has no query and no fragment.")
    typer.echo(json_module.dumps(create_tenant_issuer(data_directory(data), issuer).jwks(), indent=2))


def local_session_issuer(data: Path, account: str | None) -> "SessionIssuer":
    """Returns an issuer of sessions that gates on this data directory accept, for roles of this AWS account."""
    from keyfence.cli.deployment_options import check_deployment_options
    from keyfence.local.data_directory import find_gate_record
    from keyfence.local.gate_access import session_issuer

    if account is not None:
        check_deployment_options(account=account)
    record = find_gate_record(data)
    return session_issuer(data, Deployment(account=account or (record.account if record else LOCAL_ACCOUNT)))


def _check_credentials_options(*, tenant: str | None, read_only: bool, role: str | None, duration: int) -> None:
    if (tenant is None) == (role is None):
        raise BadInput("Use either --tenant TENANT or --role ROLE.")
    if role is not None and role not in SYSTEM_ROLES:
        raise BadInput(f"--role {role!r} is not one of {', '.join(SYSTEM_ROLES)}.")
    if role is not None and read_only:
        raise BadInput("--read-only needs --tenant.")
    if not MIN_SESSION_SECONDS <= duration <= MAX_SESSION_SECONDS:
        raise BadInput(f"--duration must be between {MIN_SESSION_SECONDS} and {MAX_SESSION_SECONDS} seconds.")


def _issue_session(
    issuer: "SessionIssuer", tenant: str | None, role: str | None, seconds: int, *, may_write: bool
) -> "IssuedSession":
    from keyfence.local import gate_access

    if role is not None:
        return gate_access.role_session(issuer, role, seconds=seconds)
    tenant_id = parse_tenant_option(tenant or "")
    return gate_access.tenant_session(issuer, tenant_id, may_write=may_write, seconds=seconds)


def _credential_process_json(issued_session: "IssuedSession") -> str:
    from keyfence_iam.gate.account.session_token import iso_seconds

    return json_module.dumps(
        {
            "Version": 1,
            "AccessKeyId": issued_session.credentials.access_key,
            "SecretAccessKey": issued_session.credentials.secret_key,
            "SessionToken": issued_session.credentials.token,
            "Expiration": iso_seconds(issued_session.session.expires_at),
        }
    )


def _export_lines(issued_session: "IssuedSession", data: Path) -> str:
    """Returns lines for a POSIX shell. Raises BadInput if no gate was started on the data directory."""
    from keyfence.local.data_directory import find_gate_record

    record = find_gate_record(data)
    if record is None:
        raise BadInput(f"No gate was started on {data}. Start `keyfence dev` or `keyfence gate` first.")
    variables = {
        "AWS_ACCESS_KEY_ID": issued_session.credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": issued_session.credentials.secret_key,
        "AWS_SESSION_TOKEN": issued_session.credentials.token,
        "AWS_DEFAULT_REGION": record.region,
        "AWS_REGION": record.region,
        "AWS_ENDPOINT_URL": record.url,
    }
    return "\n".join(f"export {name}={shlex.quote(value or '')}" for name, value in variables.items())


def _check_token_options(*, tenant: str | None, admin: bool, user: str | None, ttl: int, issuer: str | None) -> None:
    if (tenant is None) != admin:
        raise BadInput("Use either --tenant TENANT or --admin.")
    if tenant is not None:
        parse_tenant_option(tenant)
    if admin and issuer is not None:
        raise BadInput("--issuer needs --tenant: tokens of operators come from the issuer of `keyfence dev`.")
    if user is not None and not (0 < len(user) <= MAX_USER_LENGTH and user.isprintable()):
        raise BadInput(f"--user must be 1 to {MAX_USER_LENGTH} printable characters.")
    if not 1 <= ttl <= MAX_TOKEN_SECONDS:
        raise BadInput(f"--ttl must be between 1 and {MAX_TOKEN_SECONDS} seconds.")


def _parse_role(text: str | None, *, admin: bool) -> Role:
    if admin and text is not None:
        raise BadInput("--role needs --tenant: tokens of operators have no role.")
    try:
        return Role.MEMBER if text is None else Role(text.upper())
    except ValueError as error:
        raise BadInput(f"--role {text!r} is not one of {', '.join(Role)}.") from error
