"""Ways to AWS, or to the local gate that stands for it: the table, STS and IAM, each on its own credentials."""

import asyncio
from collections.abc import Sequence

from iam.boundary import TenantId
from iam.credentials import Credentials
from iam.deployment import Deployment
from iam.gate.sessions import Sessions
from iam.policies.names import SERVICE_BASE
from iam.vending import Vending
from iam.vending.budget import Budget
from iam.vending.pace import Pace
from iam.vending.refusal import NoSession
from iam.vending.sts import Sts, ambient
from iam.vending.wanted import of_warden
from iam.warden import NotShut, Warden
from service.errors import Throttled
from service.local.compute import running_as
from service.settings import Settings
from service.store.client import BotoClient, Wire, ambient_region
from service.store.cursor import Sealer
from service.store.tables import Tables
from service.store.vended import Vended
from service.tenancy.suspensions import Shut

LOCAL_PATIENCE_SECONDS = 60.0
RETRY_AFTER_MS = 1_000


def region() -> str | None:
    return ambient_region()


def production_wire(settings: Settings) -> Wire:
    return Wire(
        region=settings.region or ambient_region(),
        endpoint_url=settings.endpoint_url,
        connections=settings.data_threads,
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
    )


def local_wire(settings: Settings) -> Wire:
    return Wire(
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        connections=settings.data_threads,
        read_timeout=LOCAL_PATIENCE_SECONDS,
    )


def local_tables(settings: Settings, vending: Vending) -> Tables:
    return tables_at(settings, local_wire(settings), vending)


def tables_at(settings: Settings, wire: Wire, vending: Vending) -> Tables:
    return Tables(
        client=BotoClient(wire),
        name=settings.table,
        sealer=Sealer(settings.cursor_secrets),
        credentials=Vended(vending),
    )


def local_vending(settings: Settings, sessions: Sessions, role: str = SERVICE_BASE) -> Vending:
    """From the gate's STS, as the service's own role or as another's."""
    sts = Sts.connect(
        running_as(role, sessions),
        sessions.account.deployment.role_arn(""),
        settings.table,
        region=settings.region,
        endpoint_url=settings.sts_endpoint_url,
        read_timeout=LOCAL_PATIENCE_SECONDS,
    )
    return vending_from(settings, sts, Pace(session=settings.session_seconds, patience=LOCAL_PATIENCE_SECONDS))


def production_sts(settings: Settings) -> Sts:
    return Sts.connect(
        ambient(),
        settings.roles or "",
        settings.table,
        region=settings.region or ambient_region(),
        endpoint_url=settings.sts_endpoint_url,
    )


def vending_from(settings: Settings, sts: Sts, pace: Pace) -> Vending:
    return Vending(sts, pace=pace, budget=Budget(settings.sts_calls_per_second), sessions=settings.sessions)


def warden(settings: Settings, vending: Vending) -> Shut:
    """IAM itself, or the gate, which speaks it too."""
    if settings.roles is None:
        endpoint = settings.iam_endpoint_url or settings.endpoint_url
        return _shut(vending, Deployment().role_prefix, region=settings.region, endpoint_url=endpoint)
    prefix, region = settings.roles.rpartition("/")[2], settings.region or ambient_region()
    return _shut(vending, prefix, region=region, endpoint_url=settings.iam_endpoint_url)


def _shut(vending: Vending, prefix: str, *, region: str | None, endpoint_url: str | None) -> Shut:
    def guard(credentials: Credentials, tenants: Sequence[TenantId]) -> None:
        Warden.connect(credentials, prefix, region=region, endpoint_url=endpoint_url).shut(tenants)

    async def shut(tenants: Sequence[TenantId]) -> None:
        try:
            await asyncio.to_thread(guard, await vending.credentials(of_warden()), tenants)
        except (NoSession, NotShut) as error:
            words = f"the register has the change, but the fence did not take it: {error}; send the same again"
            raise Throttled(words, retryAfterMs=RETRY_AFTER_MS) from error

    return shut
