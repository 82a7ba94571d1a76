"""The service on an engine behind a gate, and the clients that call it in a test."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
import httpx2
from botocore.config import Config
from starlette.applications import Starlette

from keyfence.app.aws_connections import Connections
from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access, create_table
from keyfence.auth.principal import Role
from keyfence.local import gate_access
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.settings import IssuerSettings, Settings
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence.store.table import Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import QuotaOverrides, Tier
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session_token import new_gate_key
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.names import PROVISIONER
from keyfence_iam.sts import SessionCache
from keyfence_iam.tenant import TenantId, parse_tenant_id
from tests.fakes.fences import INDEX_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NO_TENANT = TenantId("")
ENGINE_CREDENTIALS = Credentials("AKIALOCAL00000000000", "local")
"""Engines accept any credentials."""

UNLIMITED_QUOTAS = QuotaOverrides(
    requests_per_second=1_000_000,
    read_units_per_second=1_000_000,
    write_units_per_second=1_000_000,
    cpu_ms_per_second=1_000_000,
    users=1_000_000,
    storage_mb=1_000_000,
)
"""Quotas that no test reaches."""

_tenant_numbers = itertools.count(1)
_boto_session = boto3.Session()
_NO_RETRIES = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=60)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One DynamoDB call."""

    operation: str
    parameters: Mapping[str, Any]
    credentials: Credentials

    @property
    def is_revocation_check(self) -> bool:
        """Every request makes one of these calls, in addition to those of its fields."""
        return self.operation == "BatchGetItem" and "#REVOCATION#" in str(self.parameters)


@dataclass(slots=True)
class RecordingClient:
    """A DynamoDB client that records each call and then sends it."""

    client: DynamoDb
    calls: list[RecordedCall] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.calls.append(RecordedCall(operation, parameters, credentials))
        return await self.client.call(operation, parameters, credentials)

    def close(self) -> None:
        self.client.close()


class GraphQLFailure(AssertionError):
    """Raised for a response with errors, if the test expects data."""


@dataclass(frozen=True, slots=True)
class ApiClient:
    """A caller with a token. It calls the ASGI application directly, without a socket."""

    application: Starlette
    token: str
    tenant: TenantId
    path: str = "/graphql"

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        transport = httpx2.ASGITransport(self.application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://keyfence.test") as http:
            default_headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
            return await http.post(self.path, content=json.dumps(body), headers={**default_headers, **headers})

    async def execute(self, query: str, **variables: Any) -> dict[str, Any]:
        answer: dict[str, Any] = (await self.post({"query": query, "variables": variables})).json()
        return answer

    async def data(self, query: str, **variables: Any) -> dict[str, Any]:
        answer = await self.execute(query, **variables)
        if "errors" in answer:
            raise GraphQLFailure(answer["errors"])
        data: dict[str, Any] = answer["data"]
        return data

    async def error_code(self, query: str, **variables: Any) -> str:
        """Returns the code of the only error in the response."""
        answer = await self.execute(query, **variables)
        (error,) = answer["errors"]
        code: str = error["extensions"]["code"]
        return code


SHORT_SETTLE = {
    "tenant_cache_seconds": 0.05,
    "tenant_use_seconds": 0.5,
    "connect_timeout_seconds": 0.25,
    "read_timeout_seconds": 1.0,
}
"""Settings that give a short settle time. The timeouts also apply to the calls, so they cannot be much shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStack:
    """The service with its table, the gate in front of the engine, and its identity provider."""

    application: Starlette
    connections: Connections
    tables: Tables
    session_cache: SessionCache
    recorder: RecordingClient
    issuer: DevelopmentIssuer
    settings: Settings
    gate: Gate
    gate_key: bytes
    engine_url: str

    @classmethod
    def start(
        cls, engine_url: str, table: str, issuer: DevelopmentIssuer, limits: PartitionLimits | None = None
    ) -> "ServiceStack":
        account = Account.from_definitions(ROLES, Deployment(table=table))
        key = new_gate_key()
        gate = Gate.start(engine_url=engine_url, account=account, key=key, limits=limits, traffic_role=PROVISIONER)
        settings = Settings(
            table=table,
            region=account.region,
            endpoint_url=gate.url,
            sts_endpoint_url=gate.url,
            issuers=(IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),),
            admin_issuers=(IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),),
            cursor_keys=("dev-" + "A" * 43,),
            index_key=INDEX_KEY,
            revocation_seconds=0.0,  # so that every request makes the same calls
        )
        create_table(settings, gate.session_issuer)
        plain_connections = aws_access(settings, gate.session_issuer).connect()
        recorder = RecordingClient(plain_connections.tables.client)
        connections = replace(plain_connections, tables=replace(plain_connections.tables, client=recorder))
        return cls(
            application=Service(connections).app,
            connections=connections,
            tables=connections.tables,
            session_cache=connections.sessions,
            recorder=recorder,
            issuer=issuer,
            settings=settings,
            gate=gate,
            gate_key=key,
            engine_url=engine_url,
        )

    def close(self) -> None:
        self.connections.close()
        self.gate.stop()

    def serve(self, **changes: Any) -> Starlette:
        """Starts another server on the same table, with these fields of its connections changed."""
        return Service(replace(self.connections, **changes)).app

    async def new_tenant(self, name: str | None = None) -> TenantId:
        """Registers an active tenant with this id, or with a new one. No test reaches its quotas."""
        tenant_id = parse_tenant_id(name or f"tenant-{next(_tenant_numbers)}")
        now = datetime.now(UTC)
        tenant = Tenant(
            id=tenant_id,
            name=tenant_id.title(),
            tier=Tier.STANDARD,
            status=TenantStatus.ACTIVE,
            overrides=UNLIMITED_QUOTAS,
            created_at=now,
            updated_at=now,
        )
        await TenantRepository(self.tables.for_control_plane(may_write=True), "the-tests").add(tenant)
        return tenant_id

    def api_client(self, tenant: TenantId, role: Role = Role.OWNER, user: str = "somebody", **claims: Any) -> ApiClient:
        token = self.issuer.token(tenant=tenant, user=user, role=role, **claims)
        return ApiClient(self.application, token, tenant)

    def operator_client(self, user: str = "an-operator") -> ApiClient:
        return ApiClient(self.application, self.issuer.admin_token(user=user), NO_TENANT, "/admin/graphql")

    def table(self, tenant: TenantId, *, may_write: bool = True, shards: ShardMap = UNSHARDED) -> Table:
        return self.tables.for_tenant(TenantLocation(tenant=tenant, shards=shards), may_write=may_write)

    def boto_client(self, tenant: TenantId, *, read_only: bool = False) -> "DynamoDBClient":
        """Returns a boto3 client of the gate with a session of this tenant."""
        session = gate_access.tenant_session(self.gate.session_issuer, tenant, may_write=not read_only)
        return self.boto_client_with(session.credentials)

    def role_boto_client(self, role: str) -> "DynamoDBClient":
        """Returns a boto3 client of the gate with a session of this role."""
        return self.boto_client_with(gate_access.role_session(self.gate.session_issuer, role).credentials)

    def boto_client_with(self, credentials: Credentials) -> "DynamoDBClient":
        return _client(self.gate.url, credentials)

    def engine_client(self) -> "DynamoDBClient":
        """Returns a boto3 client of the engine itself. It reaches all items, because no gate evaluates policies."""
        return _client(self.engine_url, ENGINE_CREDENTIALS)

    def take_calls(self) -> list[RecordedCall]:
        """Returns the calls since the last call of this method."""
        calls, self.recorder.calls = self.recorder.calls, []
        return calls

    def take_operations(self) -> list[str]:
        """Returns the operations of the calls since the last `take_calls`, without the check for a revoked token."""
        return [call.operation for call in self.take_calls() if not call.is_revocation_check]


def _client(url: str, credentials: Credentials) -> "DynamoDBClient":
    return _boto_session.client(
        "dynamodb",
        region_name=Deployment().region,
        endpoint_url=url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=_NO_RETRIES,
    )
