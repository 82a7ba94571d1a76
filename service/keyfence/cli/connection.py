"""`--data`, `--endpoint-url`, a tenant's table for a command."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.errors import BadInput, Internal
from keyfence_iam.deployment import LOCAL_REGION, Deployment
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id

if TYPE_CHECKING:
    from keyfence.app.connections import AwsAccess
    from keyfence.settings import Settings
    from keyfence.store.table import Table
    from keyfence.tenancy.cache import TenantCache
    from keyfence_iam.gate.account.session import SessionIssuer


GATE = "http://127.0.0.1:8001"

Tenant = Annotated[str, typer.Option(metavar="TENANT", help="The tenant, which has to be registered.")]
EndpointUrl = Annotated[
    str | None,
    typer.Option(envvar="KEYFENCE_ENDPOINT_URL", metavar="URL", help=f"Where DynamoDB is; locally the gate, {GATE}."),
]


@asynccontextmanager
async def connected_table(tenant: str, data: Path, endpoint_url: str | None, *, writes: bool) -> AsyncIterator["Table"]:
    """On the tenant's own session, which reaches nobody else."""
    id = _checked(tenant)
    settings = command_settings(endpoint_url)
    aws = aws_access(settings, data)
    from keyfence.app.commands import connect
    from keyfence.tenancy.cache import TenantCache, refreshed_location
    from keyfence.usage.ledger import metered_tables

    with connect(aws) as connections:
        tables = connections.tables
        control = tables.control(writes=False)
        registry = TenantCache(control, max_age=settings.tenant_cache_seconds, max_use=settings.tenant_use_seconds)
        await _require(id, registry, settings)
        async with metered_tables(tables) as metered, refreshed_location(registry, id) as home:
            yield metered.tenant(home, writes=writes)


def _checked(tenant: str) -> TenantId:
    try:
        return parse_tenant_id(tenant)
    except InvalidTenantId as error:
        raise BadInput(f"--tenant {tenant!r} is not a tenant id: {error}.") from error


def command_settings(endpoint_url: str | None) -> "Settings":
    """Cursors do not leave the command, so their key does not either."""
    from keyfence.settings import BadSettings, load

    key = secrets.token_urlsafe(32)
    try:
        given = load(cursor_keys=(key,), **({"endpoint_url": endpoint_url} if endpoint_url else {}))
        return given if given.roles else load(cursor_keys=(key,), **_local(given))
    except BadSettings as error:
        raise BadInput(str(error)) from error


def _local(given: "Settings") -> dict[str, Any]:
    gate = given.endpoint_url or GATE
    return {"endpoint_url": gate, "sts_endpoint_url": gate, "region": LOCAL_REGION}


def aws_access(settings: "Settings", data: Path) -> "AwsAccess":
    """AWS if KEYFENCE_ROLES is set, otherwise the local gate of this data directory."""
    if settings.roles:
        from keyfence.app import production

        return production.aws_access(settings)
    sessions = local_sessions(settings, data)
    from keyfence.app import local

    return local.aws_access(settings, sessions)


def local_sessions(settings: "Settings", data: Path) -> "SessionIssuer":
    from keyfence.local import data_directory
    from keyfence_iam.gate.account.account import Account
    from keyfence_iam.gate.account.session import SessionIssuer

    if not (data / data_directory.GATE_KEY_FILE).is_file():
        hint = "name the directory of `keyfence dev` with --data, or set KEYFENCE_ROLES to be on AWS"
        raise BadInput(f"There is no gate's key in {data}: {hint}.")
    return SessionIssuer(Account.of(Deployment(table=settings.table)), data_directory.gate_key(data))


async def _require(tenant: TenantId, registry: "TenantCache", settings: "Settings") -> None:
    try:
        found = await registry.find(tenant)
    except Internal as error:
        where = settings.endpoint_url or "AWS"
        raise BadInput(f"The register of tenants cannot be read at {where}: {error.message}.") from error
    if found is None:
        raise BadInput(f"There is no tenant {tenant}.")
    if found.status != "ACTIVE":
        raise BadInput(f"The tenant {tenant} is {found.status}: only one that is ACTIVE can be read or written.")


Data = Annotated[
    Path,
    typer.Option("--data", envvar="KEYFENCE_DATA", metavar="DIR", help="Where keys, engine and data are kept."),
]
