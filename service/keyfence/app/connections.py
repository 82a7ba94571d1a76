"""Ways to AWS, or to the local gate that stands for it: the table, STS and IAM, each on its own credentials."""

import asyncio
from collections.abc import Sequence

from keyfence.app.domains import load_domains
from keyfence.errors import Throttled
from keyfence.local.compute import boto_session_for
from keyfence.settings import Settings
from keyfence.store.cursor import CursorCodec
from keyfence.store.dynamodb.client import ConnectionOptions, DynamoDbClient, ambient_region
from keyfence.store.dynamodb.credentials import TenantCredentials
from keyfence.store.tables import Tables
from keyfence.tenancy.suspensions import PublishSuspensions
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import SERVICE_BASE
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.client import StsClient, default_boto_session
from keyfence_iam.sts.refresh import RefreshSchedule
from keyfence_iam.sts.session_spec import SessionUnavailable, suspender_session
from keyfence_iam.suspension import SuspensionFailed, TenantSuspension
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget

LOCAL_PATIENCE_SECONDS = 60.0
RETRY_AFTER_MS = 1_000


def region() -> str | None:
    return ambient_region()


def production_wire(settings: Settings) -> ConnectionOptions:
    return ConnectionOptions(
        region=settings.region or ambient_region(),
        endpoint_url=settings.endpoint_url,
        connections=settings.data_threads,
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
    )


def local_wire(settings: Settings) -> ConnectionOptions:
    return ConnectionOptions(
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        connections=settings.data_threads,
        read_timeout=LOCAL_PATIENCE_SECONDS,
    )


def local_tables(settings: Settings, vending: SessionCache) -> Tables:
    return tables_at(settings, local_wire(settings), vending)


def tables_at(settings: Settings, wire: ConnectionOptions, vending: SessionCache) -> Tables:
    return Tables(
        client=DynamoDbClient(wire),
        name=settings.table,
        cursors=CursorCodec(settings.cursor_secrets),
        credentials=TenantCredentials(vending),
        entities=load_domains(settings.domains).entities,
    )


def local_vending(settings: Settings, sessions: SessionIssuer, role: str = SERVICE_BASE) -> SessionCache:
    """From the gate's STS, as the service's own role or as another's."""
    sts = StsClient.connect(
        boto_session_for(role, sessions),
        sessions.account.deployment.role_arn(""),
        settings.table,
        region=settings.region,
        endpoint_url=settings.sts_endpoint_url,
        read_timeout=LOCAL_PATIENCE_SECONDS,
    )
    return vending_from(
        settings, sts, RefreshSchedule(session=settings.session_seconds, patience=LOCAL_PATIENCE_SECONDS)
    )


def production_sts(settings: Settings) -> StsClient:
    return StsClient.connect(
        default_boto_session(),
        settings.roles or "",
        settings.table,
        region=settings.region or ambient_region(),
        endpoint_url=settings.sts_endpoint_url,
    )


def vending_from(settings: Settings, sts: StsClient, pace: RefreshSchedule) -> SessionCache:
    return SessionCache(sts, pace=pace, budget=call_budget(settings.sts_calls_per_second), sessions=settings.sessions)


def suspension_publisher(settings: Settings, vending: SessionCache) -> PublishSuspensions:
    """IAM itself, or the gate, which speaks it too."""
    if settings.roles is None:
        endpoint = settings.iam_endpoint_url or settings.endpoint_url
        return _shut(vending, Deployment().role_prefix, region=settings.region, endpoint_url=endpoint)
    prefix, region = settings.roles.rpartition("/")[2], settings.region or ambient_region()
    return _shut(vending, prefix, region=region, endpoint_url=settings.iam_endpoint_url)


def _shut(vending: SessionCache, prefix: str, *, region: str | None, endpoint_url: str | None) -> PublishSuspensions:
    def guard(credentials: Credentials, tenants: Sequence[TenantId]) -> None:
        TenantSuspension.connect(credentials, prefix, region=region, endpoint_url=endpoint_url).shut(tenants)

    async def shut(tenants: Sequence[TenantId]) -> None:
        try:
            await asyncio.to_thread(guard, await vending.credentials(suspender_session()), tenants)
        except (SessionUnavailable, SuspensionFailed) as error:
            words = f"the register has the change, but the fence did not take it: {error}; send the same again"
            raise Throttled(words, retryAfterMs=RETRY_AFTER_MS) from error

    return shut
