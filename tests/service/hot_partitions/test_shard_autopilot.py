"""A recommendation is announced once. If the traffic stays high, one server acts on it, up to the limit of the tier."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.errors import Conflict
from keyfence.hot_partitions.hot_partition_finder import HotPartitionReport
from keyfence.hot_partitions.partition_load import WINDOW_SECONDS, PartitionLoad, TenantPartition
from keyfence.hot_partitions.shard_autopilot import REPEAT_AFTER, Autopilot, Mode
from keyfence.store.cursor import CursorCodec
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.keys import Fence
from keyfence.store.shards import MoveDirection, ShardCounts
from keyfence.store.table import Table
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.credentials import Credentials
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficCounts
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import CURSOR_KEY, TABLE_NAME, credentials
from tests.service.hot_partitions.sample_partitions import ACME, START

COLLECTIONS = load_domains().entities.collections


def writing(units: float, tenant: TenantId = ACME) -> HotPartitionReport:
    """Returns a report with this many write units a second for the open orders."""
    partition = TenantPartition(tenant, "GSI2", f"TENANT#{tenant}#OPEN")
    return HotPartitionReport(
        lists=(PartitionLoad(partition, "open_orders", {1: TrafficCounts(write_units=units * STEP_SECONDS)}),)
    )


class YieldingDynamoDB(InMemoryDynamoDB):
    """Lets other tasks run during each call, as a real database does."""

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        await asyncio.sleep(0)
        return await super().call(operation, parameters, credentials)


@dataclass
class Fleet:
    """Servers that share the stored tenants and a clock."""

    dynamodb: InMemoryDynamoDB = field(default_factory=YieldingDynamoDB)
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    grown: list[tuple[str, str, int]] = field(default_factory=list)
    failing: Exception | None = None

    @property
    def tenants(self) -> TenantRepository:
        caller = DynamoDbCaller(client=self.dynamodb, table=TABLE_NAME, credentials=credentials)
        table = Table(
            fence=Fence.for_control_plane(), caller=caller, cursors=CursorCodec([CURSOR_KEY]), consistent=True
        )
        return TenantRepository(table, "keyfence", self.clock.datetime)

    def server(self, mode: Mode = "dry-run", *, wired: bool = True) -> Autopilot:
        grow = self.grow if wired else None
        return Autopilot(
            tenants=self.tenants, collections=COLLECTIONS, mode=mode, start_growth=grow, now=self.clock.datetime
        )

    async def grow(self, tenant: TenantId, collection: str, shards: int) -> None:
        self.grown.append((tenant, collection, shards))
        if self.failing:
            raise self.failing

    async def tenant(self, tier: Tier = Tier.PREMIUM, **given: Any) -> None:
        now = self.clock.datetime()
        made = Tenant(
            id=ACME, name="Acme", tier=tier, status=TenantStatus.ACTIVE, created_at=now, updated_at=now, shards={}
        )
        await self.tenants.add(replace(made, **given))

    async def review_for(self, server: Autopilot, units: float, seconds: int, every: int = STEP_SECONDS) -> None:
        """Reviews the same traffic every `every` seconds, for a number of seconds."""
        for _ in range(0, seconds, every):
            await server.review(writing(units))
            await asyncio.sleep(0)
            self.clock.now += every

    async def events(self) -> list[tuple[str, dict[str, Any]]]:
        page = await self.tenants.events(ACME, first=50, after=None)
        found = [(one.kind, json.loads(one.detail), one.by) for one in reversed(page.items)]
        assert all(by == "keyfence" for _, _, by in found)
        return [(kind, detail) for kind, detail, _ in found if kind.startswith("shards.")]


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


async def test_a_full_collection_gets_one_recommendation_immediately(fleet: Fleet) -> None:
    await fleet.tenant()
    await fleet.review_for(fleet.server("off"), 2_000, WINDOW_SECONDS)
    detail = {"collection": "open_orders", "from": 1, "to": 4, "peak": 2_000.0, "units": "write"}
    assert await fleet.events() == [("shards.recommended", detail)]


async def test_a_collection_with_room_gets_no_recommendation(fleet: Fleet) -> None:
    await fleet.tenant(shards={"open_orders": ShardCounts(read_shards=4, write_shards=4)})
    await fleet.review_for(fleet.server(), 2_000, WINDOW_SECONDS * 3)
    await fleet.review_for(fleet.server(), 700, WINDOW_SECONDS * 3)
    assert await fleet.events() == []


async def test_a_higher_recommendation_is_announced_immediately_and_any_other_after_ten_minutes(fleet: Fleet) -> None:
    await fleet.tenant()
    server = fleet.server("off")
    for units in (2_000, 1_500, 2_500, 2_000):
        await fleet.review_for(server, units, STEP_SECONDS)
    assert [detail["to"] for _, detail in await fleet.events()] == [4, 5]
    fleet.clock.now += REPEAT_AFTER.total_seconds()
    await fleet.review_for(server, 2_000, STEP_SECONDS)
    assert [detail["to"] for _, detail in await fleet.events()] == [4, 5, 4]


async def test_a_dry_run_announces_growth_when_the_traffic_is_high_for_two_windows(fleet: Fleet) -> None:
    await fleet.tenant()
    server = fleet.server()
    await fleet.review_for(server, 2_000, WINDOW_SECONDS)
    assert [kind for kind, _ in await fleet.events()] == ["shards.recommended"]
    await fleet.review_for(server, 2_000, WINDOW_SECONDS * 3)
    assert [kind for kind, _ in await fleet.events()] == ["shards.recommended", "shards.would_grow"]
    assert fleet.grown == []


async def test_a_burst_grows_nothing(fleet: Fleet) -> None:
    """A burst is in every window of the next minute, and in no window after that."""
    await fleet.tenant()
    server = fleet.server("on")
    for _ in range(5):
        await fleet.review_for(server, 2_000, WINDOW_SECONDS)
        fleet.clock.now += WINDOW_SECONDS * 2
    assert fleet.grown == []


async def test_only_one_of_many_servers_starts_the_growth_and_only_once(fleet: Fleet) -> None:
    await fleet.tenant()
    servers = [fleet.server("on") for _ in range(5)]
    for _ in range(0, WINDOW_SECONDS * 3, STEP_SECONDS):
        await asyncio.gather(*(one.review(writing(2_000)) for one in servers))
        fleet.clock.now += STEP_SECONDS
    assert fleet.grown == [(ACME, "open_orders", 4)]
    assert [kind for kind, _ in await fleet.events()] == ["shards.recommended"]


@pytest.mark.parametrize(
    ("tier", "grown"), [(Tier.FREE, []), (Tier.STANDARD, [4]), (Tier.PREMIUM, [10]), (Tier.ENTERPRISE, [10])]
)
async def test_growth_is_limited_by_the_tier_and_the_recommendation_is_not(
    fleet: Fleet, tier: Tier, grown: list[int]
) -> None:
    await fleet.tenant(tier)
    await fleet.review_for(fleet.server("on"), 5_000, WINDOW_SECONDS * 3)
    assert [shards for _, _, shards in fleet.grown] == grown
    assert [detail["to"] for _, detail in await fleet.events()] == [10]


async def test_a_tenant_at_the_limit_of_its_tier_does_not_grow(fleet: Fleet) -> None:
    await fleet.tenant(Tier.STANDARD, shards={"open_orders": ShardCounts(read_shards=4, write_shards=4)})
    await fleet.review_for(fleet.server(), 5_000, WINDOW_SECONDS * 3)
    assert [kind for kind, _ in await fleet.events()] == ["shards.recommended"]


@pytest.mark.parametrize(
    "given",
    [
        {"shards": {"open_orders": ShardCounts(job_id="job_1", move_direction=MoveDirection.UP)}},
        {"status": TenantStatus.SUSPENDED},
        {"status": TenantStatus.OFFBOARDING},
    ],
    ids=["resharding", "suspended", "leaving"],
)
async def test_nothing_happens_during_a_reshard_or_if_the_tenant_is_not_active(
    fleet: Fleet, given: dict[str, Any]
) -> None:
    await fleet.tenant(**given)
    await fleet.review_for(fleet.server("on"), 5_000, WINDOW_SECONDS * 3)
    assert (fleet.grown, await fleet.events()) == ([], [])


async def test_an_interrupted_growth_is_continued_and_no_other_is_started(fleet: Fleet) -> None:
    begun = ShardCounts(read_shards=2, write_shards=1, job_id="job_1")
    await fleet.tenant(shards={"open_orders": begun})
    await fleet.server("dry-run").review(writing(5_000))
    assert fleet.grown == []
    await fleet.review_for(fleet.server("on"), 5_000, WINDOW_SECONDS * 3)
    assert {shards for _, _, shards in fleet.grown} == {2}
    assert await fleet.events() == []


async def test_an_unknown_tenant_is_ignored(fleet: Fleet) -> None:
    await fleet.server("on").review(writing(5_000, TenantId("nobody-here")))
    assert fleet.grown == []


@pytest.mark.parametrize("error", [Conflict("another reshard is under way"), RuntimeError("a bug")])
async def test_a_failed_growth_is_tried_again_after_ten_minutes(fleet: Fleet, error: Exception) -> None:
    await fleet.tenant()
    fleet.failing = error
    server = fleet.server("on")
    await fleet.review_for(server, 2_000, WINDOW_SECONDS * 4)
    assert len(fleet.grown) == 1
    await fleet.review_for(server, 2_000, int(REPEAT_AFTER / timedelta(seconds=1)))
    assert len(fleet.grown) == 2


async def test_the_autopilot_only_recommends_if_it_is_switched_off(fleet: Fleet) -> None:
    await fleet.tenant()
    await fleet.review_for(fleet.server("off"), 2_000, WINDOW_SECONDS * 4)
    assert ([kind for kind, _ in await fleet.events()], fleet.grown) == (["shards.recommended"], [])


async def test_an_autopilot_that_cannot_start_growth_announces_what_it_would_do(fleet: Fleet) -> None:
    await fleet.tenant()
    await fleet.review_for(fleet.server("on", wired=False), 2_000, WINDOW_SECONDS * 3)
    assert [kind for kind, _ in await fleet.events()] == ["shards.recommended", "shards.would_grow"]
