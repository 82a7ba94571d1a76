"""Options that many commands share, and the connection to DynamoDB that these options describe."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.errors import BadInput, Internal
from keyfence_iam.deployment import LOCAL_ACCOUNT, LOCAL_REGION, Deployment
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id

if TYPE_CHECKING:
    from keyfence.app.aws_connections import AwsAccess
    from keyfence.domain import Domains
    from keyfence.settings import Settings
    from keyfence.store.table import Table
    from keyfence.tenancy.tenant_cache import TenantCache
    from keyfence_iam.gate.account.session import SessionIssuer


TenantOption = Annotated[str, typer.Option(metavar="TENANT", help="The id of a registered tenant.")]
DataOption = Annotated[
    Path,
    typer.Option("--data", envvar="KEYFENCE_DATA", metavar="DIR", help="The data directory of `keyfence dev`."),
]
EndpointUrlOption = Annotated[
    str | None,
    typer.Option(
        envvar="KEYFENCE_ENDPOINT_URL",
        metavar="URL",
        help="The DynamoDB endpoint. Default on a laptop: the gate that runs on the data directory.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, also for errors.")]


def parse_tenant_option(text: str, option: str = "--tenant") -> TenantId:
    """Returns the tenant id. Raises BadInput, which names `option`, if the text is not a tenant id."""
    try:
        return parse_tenant_id(text)
    except InvalidTenantId as error:
        raise BadInput(f"{option} {text!r} is not a tenant id: {error}.") from error


def aws_access(data: Path, endpoint_url: str | None) -> "AwsAccess":
    """Returns access to AWS if KEYFENCE_ROLE_ARN_PREFIX is set, else to the gate of the data directory.

    Raises BadInput if no gate answers, if the gate belongs to another data directory, or if the index key is missing
    on AWS.
    """
    settings = _settings_with_cursor_key(endpoint_url)
    if settings.role_arn_prefix:
        _check_index_key(settings)
        from keyfence.app import production

        return production.aws_access(settings)
    issuer = _session_issuer(data, settings.table)
    gate_url = settings.endpoint_url or remembered_gate_url(data)
    check_gate(gate_url, issuer)
    gate_settings = {"endpoint_url": gate_url, "sts_endpoint_url": gate_url, "region": issuer.account.region}
    from keyfence.app.local_development import aws_access as local_access
    from keyfence.local.data_directory import index_key

    return local_access(_settings_with_cursor_key(index_key=index_key(data), **gate_settings), issuer)


def _check_index_key(settings: "Settings") -> None:
    """Raises BadInput for a missing or wrong index key. With another key than that of the servers, a command would
    write items that no list finds."""
    from keyfence.settings_checks import index_key_problems

    if problems := [*index_key_problems(settings)]:
        raise BadInput("\n".join(problems))


def remembered_gate_url(data: Path) -> str:
    """Returns the address that `keyfence dev` or `keyfence gate` wrote into the data directory when it started."""
    from keyfence.local.data_directory import find_gate_record

    if (record := find_gate_record(data)) is None:
        raise BadInput(
            f"No gate was started on the data directory {data}. Start `keyfence dev --data {data}`, or give the"
            " address of a running gate with --endpoint-url."
        )
    return record.url


def check_gate(url: str, issuer: "SessionIssuer") -> None:
    """Raises BadInput unless the gate at `url` accepts sessions of this issuer."""
    from keyfence.local.gate_client import GateClient

    GateClient(url=url, region=issuer.account.region, issuer=issuer).check_identity()


@asynccontextmanager
async def connected_table(
    tenant: str, data: Path, endpoint_url: str | None, *, may_write: bool
) -> AsyncIterator["Table"]:
    """Yields a table handle with the tenant's own session. Raises BadInput if the tenant is not ACTIVE."""
    id = parse_tenant_option(tenant)
    aws = aws_access(data, endpoint_url)
    from keyfence.app.command_connections import connect
    from keyfence.tenancy.tenant_cache import TenantCache, refreshed_location
    from keyfence.usage.ledger import metered_tables

    settings = aws.settings
    with connect(aws) as connections:
        control = connections.tables.for_control_plane(may_write=False)
        tenants = TenantCache(
            control, max_age_seconds=settings.tenant_cache_seconds, max_use_seconds=settings.tenant_use_seconds
        )
        await _require_active(id, tenants, settings)
        async with metered_tables(connections.tables) as metered, refreshed_location(tenants, id) as location:
            yield metered.for_tenant(location, may_write=may_write)


def selected_domains() -> "Domains":
    """Returns the domains that KEYFENCE_DOMAINS selects."""
    from keyfence.app.domain_loading import load_domains

    return load_domains(_settings_with_cursor_key().domains)


def command_settings(**overrides: Any) -> "Settings":
    """Returns the settings of the environment with these overrides. Raises BadInput for a value that is not valid."""
    from keyfence.settings import BadSettings, load_settings

    try:
        return load_settings(**overrides)
    except BadSettings as error:
        raise BadInput(str(error)) from error


def _settings_with_cursor_key(endpoint_url: str | None = None, **overrides: Any) -> "Settings":
    """Returns the settings with a random cursor key. The key need not be stored, because no cursor is used after the
    command ends."""
    endpoint = {"endpoint_url": endpoint_url} if endpoint_url else {}
    return command_settings(cursor_keys=(secrets.token_urlsafe(32),), **endpoint, **overrides)


def tenants_unreadable(settings: "Settings", error: Internal) -> BadInput:
    endpoint = settings.endpoint_url or "AWS"
    return BadInput(f"The tenants at {endpoint} cannot be read: {error.message}.")


def unknown_tenant_message(tenant: TenantId) -> str:
    return f"Tenant {tenant} does not exist. `keyfence tenant list` shows all tenants."


def _session_issuer(data: Path, table: str) -> "SessionIssuer":
    """Returns an issuer of sessions that the gate of the data directory accepts."""
    from keyfence.local.data_directory import find_gate_record
    from keyfence.local.gate_access import session_issuer

    record = find_gate_record(data)
    account, region = (record.account, record.region) if record else (LOCAL_ACCOUNT, LOCAL_REGION)
    return session_issuer(data, Deployment(account=account, region=region, table=table))


async def _require_active(id: TenantId, tenants: "TenantCache", settings: "Settings") -> None:
    try:
        tenant = await tenants.find(id)
    except Internal as error:
        raise tenants_unreadable(settings, error) from error
    if tenant is None:
        raise BadInput(unknown_tenant_message(id))
    if tenant.status != "ACTIVE":
        raise BadInput(f"Tenant {id} is {tenant.status}. Only an ACTIVE tenant can be read or written.")
