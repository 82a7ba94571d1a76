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

TENANT, HYPHENED, LONGER = TenantId("acme"), TenantId("acme-1"), TenantId("acmecorp")
NEIGHBOURS = (HYPHENED, LONGER)
OWN, FOREIGN = (Fence("tenant", tenant_key_prefix(tenant)) for tenant in (TENANT, LONGER))


def key(tenant: TenantId, name: str = "1") -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#{name}"}, "SK": {"S": "PROFILE"}}


@dataclass(frozen=True, slots=True)
class Silos:
    """The silo tables next to the shared table. `mover` is the session cache of the migrator."""

    stack: ServiceStack
    mover: SessionCache

    @property
    def pool(self) -> str:
        return self.stack.tables.name

    def of(self, tenant: TenantId) -> str:
        return silo_table(self.pool, tenant)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.pool, *(self.of(tenant) for tenant in (TENANT, *NEIGHBOURS))

    def expected_tables(self, placement: TableAccess) -> set[str]:
        own = {TableAccess.POOL: [self.pool], TableAccess.SILO: [self.of(TENANT)]}
        return {*own.get(placement, (self.pool, self.of(TENANT)))}

    async def client(
        self, placement: TableAccess, tenant: TenantId = TENANT, *, writes: bool = True
    ) -> "DynamoDBClient":
        return await self._client(self.stack.vending, tenant_session(tenant, writes=writes, table_access=placement))

    async def migration_client(self, placement: TableAccess, tenant: TenantId = TENANT) -> "DynamoDBClient":
        return await self._client(self.mover, migration_session(tenant, table_access=placement))

    def items(self) -> dict[str, list[dict[str, Any]]]:
        """Returns all items of all tables from the engine."""
        engine = self.stack.engine_client()
        return {table: engine.scan(TableName=table)["Items"] for table in self.tables}

    def admin(self, table: str, role: str = "migrator") -> TableAdmin:
        """Returns the admin of a table with the rights of this role."""
        settings = self.stack.settings
        wire = ConnectionOptions(region=settings.region, endpoint_url=settings.endpoint_url)
        return TableAdmin.connect(
            wire,
            table,
            self.stack.tables.entities.projections,
            gate_access.role_session(self.stack.gate.sessions, role).credentials,
        )

    async def _client(self, sessions: SessionCache, spec: SessionSpec) -> "DynamoDBClient":
        return self.stack.boto_client_with(await sessions.credentials(spec))


@contextmanager
def silos(stack: ServiceStack) -> Iterator[Silos]:
    mover = aws_access(stack.settings, stack.gate.sessions).open_sessions("migrator")
    made = Silos(stack, mover)
    for tenant in (TENANT, *NEIGHBOURS):
        made.admin(made.of(tenant)).create()
    yield made
    mover.close()
