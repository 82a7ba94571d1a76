"""The shared table, silo tables of three tenants with similar ids, and sessions of the first tenant."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keyfence.app.local_development import aws_access
from keyfence.local import gate_access
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence.store.keys import Fence
from keyfence_iam.deployment import silo_table
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import SessionSpec, TableAccess, migration_session, tenant_session
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT, HYPHENATED_NEIGHBOUR, LONGER_NEIGHBOUR = TenantId("acme"), TenantId("acme-1"), TenantId("acmecorp")
NEIGHBOURS = (HYPHENATED_NEIGHBOUR, LONGER_NEIGHBOUR)
OWN_FENCE, FOREIGN_FENCE = (Fence("tenant", tenant_key_prefix(tenant)) for tenant in (TENANT, LONGER_NEIGHBOUR))


def key(tenant: TenantId, name: str = "1") -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#{name}"}, "SK": {"S": "PROFILE"}}


@dataclass(frozen=True, slots=True)
class Silos:
    """The shared table and the silo tables. `migrator_sessions` is the session cache of the migrator."""

    stack: ServiceStack
    migrator_sessions: SessionCache

    @property
    def pool(self) -> str:
        return self.stack.tables.name

    def table_of(self, tenant: TenantId) -> str:
        return silo_table(self.pool, tenant)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.pool, *(self.table_of(tenant) for tenant in (TENANT, *NEIGHBOURS))

    def expected_tables(self, table_access: TableAccess) -> set[str]:
        """Returns the tables that a session of TENANT with this access may use."""
        own_tables = {TableAccess.POOL: [self.pool], TableAccess.SILO: [self.table_of(TENANT)]}
        return {*own_tables.get(table_access, (self.pool, self.table_of(TENANT)))}

    async def client(
        self, table_access: TableAccess, tenant: TenantId = TENANT, *, may_write: bool = True
    ) -> "DynamoDBClient":
        return await self._client(
            self.stack.session_cache, tenant_session(tenant, may_write=may_write, table_access=table_access)
        )

    async def migration_client(self, table_access: TableAccess, tenant: TenantId = TENANT) -> "DynamoDBClient":
        return await self._client(self.migrator_sessions, migration_session(tenant, table_access=table_access))

    def items(self) -> dict[str, list[dict[str, Any]]]:
        """Returns all items of all tables from the engine."""
        engine = self.stack.engine_client()
        return {table: engine.scan(TableName=table)["Items"] for table in self.tables}

    def admin(self, table: str, role: str = "migrator") -> TableAdmin:
        """Returns a client that administers the table with the permissions of this role."""
        settings = self.stack.settings
        options = ConnectionOptions(region=settings.region, endpoint_url=settings.endpoint_url)
        return TableAdmin.connect(
            options,
            table,
            self.stack.tables.entities.projections,
            gate_access.role_session(self.stack.gate.session_issuer, role).credentials,
        )

    async def _client(self, sessions: SessionCache, spec: SessionSpec) -> "DynamoDBClient":
        return self.stack.boto_client_with(await sessions.credentials(spec))


@contextmanager
def open_silos(stack: ServiceStack) -> Iterator[Silos]:
    migrator_sessions = aws_access(stack.settings, stack.gate.session_issuer).open_sessions("migrator")
    silos = Silos(stack, migrator_sessions)
    for tenant in (TENANT, *NEIGHBOURS):
        silos.admin(silos.table_of(tenant)).create()
    yield silos
    migrator_sessions.close()
