"""Offboarding in tests: items to fill a table with, resources of the worker, and what the table contains afterwards."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyfence.app.commands import connect_migrator
from keyfence.app.local import aws_access
from keyfence.jobs.migrator import MigratorAccess
from keyfence.jobs.offboard.certificate import CertificateSigner
from keyfence.jobs.offboard.job import OffboardResources, Worker
from keyfence.jobs.offboard.start import OffboardingProgress, OffboardingState, StartOffboarding
from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.failures.crashing_client import Crash
from tests.stack import World

OPERATOR = "an-operator"
KEY = CertificateSigner(Ed25519PrivateKey.from_private_bytes(b"k" * 32))
START = datetime(2026, 11, 16, 8, tzinfo=UTC)


@dataclass(slots=True)
class Time:
    """A clock that only sleep moves."""

    at: datetime = START
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += timedelta(seconds=seconds)


@dataclass(slots=True)
class CrashingProcess:
    """A process that crashes before or after one of its calls, or at one of the points that a job reports.

    None of its later calls is sent."""

    client: DynamoDb
    at: int | None = None
    places: list[str] = field(default_factory=list)

    def place(self, name: str) -> None:
        if not self.crashed:
            self.places.append(name)
        if self.crashed:
            raise Crash

    @property
    def crashed(self) -> bool:
        return self.at is not None and len(self.places) > self.at

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.place(f"asking {operation}")
        answer = await self.client.call(operation, parameters, credentials)
        self.place(f"answered {operation}")
        return answer

    def close(self) -> None: ...


def with_client(by: MigratorAccess, client: DynamoDb) -> MigratorAccess:
    return replace(by, tables=replace(by.tables, client=client))


@contextmanager
def migrator(world: World, **changes: float) -> Iterator[MigratorAccess]:
    with connect_migrator(aws_access(world.settings.model_copy(update=changes), world.gate.sessions)) as made:
        yield made


def means(by: MigratorAccess, exports: Path, time: Time, **changes: Any) -> OffboardResources:
    made = by.means(by=OPERATOR, exports=exports, signer=KEY, rate=5.0)
    register, suspensions = replace(made.register, now=time.now), replace(made.suspensions, now=time.now)
    unhurried = {"rate": 1_000_000.0, **changes}
    return replace(made, register=register, suspensions=suspensions, now=time.now, sleep=time.sleep, **unhurried)


def without_iam(given: OffboardResources) -> OffboardResources:
    """Leaves out the suspension through IAM, which other tests cover, so that many offboardings take less time."""

    async def shut(_: Sequence[TenantId]) -> None: ...

    return replace(given, suspensions=replace(given.suspensions, shut=shut))


async def begin(means: OffboardResources, tenant: TenantId, confirm: str | None = None) -> OffboardingProgress:
    return await StartOffboarding(means.register, means.suspensions, now=means.now)(tenant, confirm or tenant)


async def offboard(means: OffboardResources, tenant: TenantId) -> OffboardingState:
    await begin(means, tenant)
    return await Worker(means).run(tenant)


def fill(
    world: World, tenant: TenantId, count: int, *, text: str = "the word of {tenant}", indexed: int | None = None
) -> None:
    """Puts items into the engine. The first `indexed` of them, or all, have keys of up to three indexes."""
    spoken, most = text.format(tenant=tenant), count if indexed is None else indexed
    put_items(world, [_item(tenant, at, spoken, at % 4 if at < most else 0) for at in range(count)])


def put_items(world: World, items: list[Item]) -> None:
    client, table = world.engine_client(), world.settings.table
    for chunk in _batched(items, 100):
        client.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": item}} for item in chunk])


def delete_items(world: World, *, keep: TenantId | None = None) -> None:
    """Deletes all items of the table but those of one tenant, so that each crash starts from the same table."""
    client, table = world.engine_client(), world.settings.table
    prefix = tenant_key_prefix(keep) if keep else None
    items = [item for item in all_items(world) if prefix is None or not item["PK"]["S"].startswith(prefix)]
    for chunk in _batched(items, 100):
        keys = [{"PK": item["PK"], "SK": item["SK"]} for item in chunk]
        client.transact_write_items(TransactItems=[{"Delete": {"TableName": table, "Key": key}} for key in keys])


def _batched(items: list[Item], size: int) -> Iterator[list[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _item(tenant: TenantId, at: int, text: str, indexes: int) -> Item:
    prefix = tenant_key_prefix(tenant)
    item: Item = {
        "PK": {"S": f"{prefix}THING#{at:05}"},
        "SK": {"S": "METADATA"},
        "name": {"S": f"{text} {at}"},
        "count": {"N": "1234567890123456789012345.678"},
        "flags": {"SS": ["a", "b"]},
        "nested": {"M": {"list": {"L": [{"BOOL": True}, {"NULL": True}, {"B": "AAECAw=="}]}}},
    }
    for number in (1, 2, 3)[:indexes]:
        item |= {f"GSI{number}PK": {"S": f"{prefix}LIST#{at % 5}"}, f"GSI{number}SK": {"S": f"{at:05}"}}
    return item


def all_items(world: World, index: str | None = None) -> list[Any]:
    """Returns all items of the table, or of an index, from the engine."""
    place: Any = {"IndexName": index} if index else {}
    pages = world.engine_client().get_paginator("scan").paginate(TableName=world.settings.table, **place)
    return [item for page in pages for item in page["Items"]]


def items_of(items: list[Any], tenant: TenantId) -> list[Any]:
    own = [item for item in items if item["PK"]["S"].startswith(tenant_key_prefix(tenant))]
    return sorted(own, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
