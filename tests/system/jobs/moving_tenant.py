"""A tenant in any phase of a move, and the items of its two tables in the engine."""

from dataclasses import dataclass, replace
from typing import Any

from keyfence.app.domain_loading import load_domains
from keyfence.local import gate_access
from keyfence.store.dual_write.item_sync import ItemSync, SyncOutcome
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.placement import MovePhase, Placement, TableMove
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import location_of
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.deployment import silo_table
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.stack import ApiClient, ServiceStack

Items = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MovingTenant:
    """A tenant that moves from the shared table to its silo table. Each server is new and knows the latest phase."""

    stack: ServiceStack
    tenant: TenantId

    @classmethod
    async def create(cls, stack: ServiceStack) -> "MovingTenant":
        made = cls(stack, await stack.new_tenant())
        options = ConnectionOptions(region=stack.settings.region, endpoint_url=stack.settings.endpoint_url)
        migrator = gate_access.role_session(stack.gate.session_issuer, "migrator").credentials
        TableAdmin.connect(options, made.silo, load_domains().entities.projections, migrator).create()
        return made

    @property
    def pool(self) -> str:
        return self.stack.tables.name

    @property
    def silo(self) -> str:
        return silo_table(self.pool, self.tenant)

    async def publish(self, phase: MovePhase | None, placement: Placement = Placement.POOL) -> Tenant:
        move = phase and TableMove(target=placement.other, phase=phase, job_id="job_test")
        tenants = TenantRepository(self.stack.tables.for_control_plane(may_write=True), "the-tests")
        return await tenants.change(
            self.tenant,
            TenantEventKind.MOVED,
            lambda tenant: replace(tenant, placement=placement, move=move or None),
            detail={},
        )

    async def publish_location(self, phase: MovePhase | None, placement: Placement = Placement.POOL) -> TenantLocation:
        return location_of(await self.publish(phase, placement))

    async def table(self, phase: MovePhase | None, placement: Placement = Placement.POOL) -> Table:
        return self.stack.tables.for_tenant(await self.publish_location(phase, placement), may_write=True)

    def server(self) -> ApiClient:
        application = self.stack.serve()
        return replace(self.stack.api_client(self.tenant), application=application)

    def items(self, table: str) -> Items:
        pages = self.stack.engine_client().get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        prefix = tenant_key_prefix(self.tenant)
        found: list[Any] = [item for page in pages for item in page["Items"] if item["PK"]["S"].startswith(prefix)]
        return {(item["PK"]["S"], item["SK"]["S"]): _sorted(item) for item in found}

    def items_in_both_tables(self) -> tuple[Items, Items]:
        return self.items(self.pool), self.items(self.silo)

    async def backfill(self) -> None:
        location = TenantLocation(tenant=self.tenant, also_write_to=TableAccess.SILO)
        caller = self.stack.tables.for_tenant(location, may_write=True).caller
        item_sync = ItemSync(caller=caller, source=self.pool, target=self.silo)
        for partition, sort in {key for items in self.items_in_both_tables() for key in items}:
            outcome = await item_sync.sync({"PK": {"S": partition}, "SK": {"S": sort}})
            assert outcome is not SyncOutcome.CONFLICT


def _sorted(item: dict[str, Any]) -> dict[str, Any]:
    """Returns the item with its sets sorted, since sets have no order."""
    return {name: {"SS": sorted(value["SS"])} if "SS" in value else value for name, value in item.items()}
