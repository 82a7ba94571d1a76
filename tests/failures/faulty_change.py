"""A mutation that fails at one of its writes, and that the caller then repeats."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest

from keyfence.store.dynamodb.caller import CallLimit
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.table import Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.gate.faults import Fault, FaultKind
from tests import tier
from tests.failures.tenant_snapshot import Snapshot, TenantItems
from tests.stack import ApiClient, ServiceStack

KINDS: list[FaultKind] = [kind for kind in get_args(FaultKind) if kind != "latency"]
WRITE_OPERATIONS = {"TransactWriteItems", "BatchWriteItem", "PutItem", "UpdateItem", "DeleteItem"}

every_kind = pytest.mark.parametrize("kind", tier.cases(KINDS, default=["lost_response"], reason="every kind of fault"))
ERROR_CODES = {"throttle": "THROTTLED", "error": "INTERNAL", "lost_request": "INTERNAL", "lost_response": "INTERNAL"}
"""The error code in the response to each kind of fault."""

Answer = dict[str, Any]


def error_code(answer: Answer) -> str:
    (error,) = answer["errors"]
    told: str = error["extensions"]["code"]
    return told


class NoRetryTables(Tables):
    """Table handles without retries, so that the first fault reaches the caller."""

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
    """The response and the items after the fault, and after the repetition."""

    nth: int
    failed: Answer
    half: Snapshot
    again: Answer
    kept: Snapshot


@dataclass(frozen=True, slots=True)
class FaultyChange:
    """A mutation, and the items of its tenant before it."""

    stack: ServiceStack
    session: ApiClient
    mutation: str
    variables: Mapping[str, Any]
    shelf: TenantItems
    before: Snapshot

    @classmethod
    def by(cls, stack: ServiceStack, session: ApiClient, mutation: str, **variables: Any) -> "FaultyChange":
        shelf = TenantItems.of(stack, session.tenant)
        return cls(stack, session, mutation, variables, shelf, shelf.snapshot())

    async def without_faults(self) -> tuple[Answer, Snapshot, int]:
        """Runs it without faults. Returns the response, the items afterwards, and the number of writes."""
        self.shelf.restore(self.before)
        self.stack.take_calls()
        answer = await self._ask(self.session)
        assert "errors" not in answer, answer
        calls = [call.operation for call in self.stack.take_calls()]
        assert WRITE_OPERATIONS.intersection(calls) == {"TransactWriteItems"}
        return answer, self.shelf.snapshot(), calls.count("TransactWriteItems")

    async def with_retries(self) -> AsyncIterator[tuple[Answer, Snapshot]]:
        """Runs it with every kind of fault at each write in turn. The service must retry by itself."""
        _, _, writes = await self.without_faults()
        for nth in range(1, writes + 1):
            self.shelf.restore(self.before)
            self.stack.take_calls()
            answer = await self._struck(self.session, nth, *KINDS)
            assert [call.operation for call in self.stack.take_calls()].count("TransactWriteItems") == writes + len(
                KINDS
            )
            yield answer, self.shelf.snapshot()

    async def failed_and_repeated(self, kind: FaultKind) -> AsyncIterator[FaultOutcome]:
        """Runs it with a fault at each write in turn, without retries, and then repeats it without a fault."""
        hasty, nth = self._hasty(), 1
        while True:
            self.shelf.restore(self.before)
            failed = await self._struck(hasty, nth, kind)
            if "errors" not in failed:
                return
            half = self.shelf.snapshot()
            yield FaultOutcome(nth, failed, half, await self._ask(hasty), self.shelf.snapshot())
            nth += 1

    def _hasty(self) -> ApiClient:
        tables = self.stack.tables
        hasty = NoRetryTables(
            client=tables.client, name=tables.name, cursors=tables.cursors, credentials=tables.credentials
        )
        return replace(self.session, application=self.stack.serve(tables=hasty))

    async def _struck(self, session: ApiClient, nth: int, *kinds: FaultKind) -> Answer:
        self.stack.gate.faults = [
            Fault(kind=kind, operation="TransactWriteItems", nth=at) for at, kind in enumerate(kinds, start=nth)
        ]
        try:
            return await self._ask(session)
        finally:
            self.stack.gate.faults = ()

    async def _ask(self, session: ApiClient) -> Answer:
        return await session.execute(self.mutation, **self.variables)
