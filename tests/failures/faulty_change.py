"""A change that is struck at one of its writes, and made again by whoever wanted it."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest

from keyfence.store.dynamodb.caller import CallLimit
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.flow_control import RetryPolicy
from keyfence.store.table import Table
from keyfence.store.tables import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.gate.faults import Fault, FaultKind
from tests import tier
from tests.failures.tenant_snapshot import Snapshot, TenantItems
from tests.stack import Session, World

KINDS: list[FaultKind] = [kind for kind in get_args(FaultKind) if kind != "latency"]
WRITE_OPERATIONS = {"TransactWriteItems", "BatchWriteItem", "PutItem", "UpdateItem", "DeleteItem"}

every_kind = pytest.mark.parametrize("kind", tier.cases(KINDS, default=["lost_response"], reason="every kind of fault"))
ERROR_CODES = {"throttle": "THROTTLED", "error": "INTERNAL", "lost_request": "INTERNAL", "lost_response": "INTERNAL"}
"""What whoever asked hears of a fault that the service did not get over."""

Answer = dict[str, Any]


def error_code(answer: Answer) -> str:
    (error,) = answer["errors"]
    told: str = error["extensions"]["code"]
    return told


class NoRetryTables(Tables):
    """Handles that give up at the first fault, so that it reaches whoever asked."""

    def for_tenant(
        self,
        location: TenantLocation,
        *,
        writes: bool,
        meter: CapacityMeter | None = None,
        call_limit: CallLimit | None = None,
    ) -> Table:
        table = Tables.for_tenant(self, location, writes=writes, meter=meter, call_limit=call_limit)
        return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=1)))


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """What a struck change answered and left, and what it answered and left when it was made again."""

    nth: int
    failed: Answer
    half: Snapshot
    again: Answer
    kept: Snapshot


@dataclass(frozen=True, slots=True)
class FaultyChange:
    """A mutation, on what a tenant has before it."""

    world: World
    session: Session
    mutation: str
    variables: Mapping[str, Any]
    shelf: TenantItems
    before: Snapshot

    @classmethod
    def by(cls, world: World, session: Session, mutation: str, **variables: Any) -> "FaultyChange":
        shelf = TenantItems.of(world, session.tenant)
        return cls(world, session, mutation, variables, shelf, shelf.snapshot())

    async def without_faults(self) -> tuple[Answer, Snapshot, int]:
        """Without faults: the answer, what is kept then, and how many writes it took."""
        self.shelf.restore(self.before)
        self.world.calls()
        answer = await self._ask(self.session)
        assert "errors" not in answer, answer
        calls = [call.operation for call in self.world.calls()]
        assert WRITE_OPERATIONS.intersection(calls) == {"TransactWriteItems"}
        return answer, self.shelf.snapshot(), calls.count("TransactWriteItems")

    async def with_retries(self) -> AsyncIterator[tuple[Answer, Snapshot]]:
        """With every kind of fault, one after the other, at each write in turn, which the service gets over itself."""
        _, _, writes = await self.without_faults()
        for nth in range(1, writes + 1):
            self.shelf.restore(self.before)
            self.world.calls()
            answer = await self._struck(self.session, nth, *KINDS)
            assert [call.operation for call in self.world.calls()].count("TransactWriteItems") == writes + len(KINDS)
            yield answer, self.shelf.snapshot()

    async def failed_and_repeated(self, kind: FaultKind) -> AsyncIterator[FaultOutcome]:
        """Given up at each write in turn, until there is none left to be struck; then made again."""
        hasty, nth = self._hasty(), 1
        while True:
            self.shelf.restore(self.before)
            failed = await self._struck(hasty, nth, kind)
            if "errors" not in failed:
                return
            half = self.shelf.snapshot()
            yield FaultOutcome(nth, failed, half, await self._ask(hasty), self.shelf.snapshot())
            nth += 1

    def _hasty(self) -> Session:
        tables = self.world.tables
        hasty = NoRetryTables(
            client=tables.client, name=tables.name, cursors=tables.cursors, credentials=tables.credentials
        )
        return replace(self.session, application=self.world.serve(tables=hasty))

    async def _struck(self, session: Session, nth: int, *kinds: FaultKind) -> Answer:
        self.world.gate.faults = [
            Fault(kind=kind, operation="TransactWriteItems", nth=at) for at, kind in enumerate(kinds, start=nth)
        ]
        try:
            return await self._ask(session)
        finally:
            self.world.gate.faults = ()

    async def _ask(self, session: Session) -> Answer:
        return await session.answer(self.mutation, **self.variables)
