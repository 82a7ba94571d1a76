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
from keyfence_iam.gate.fault_definition import Fault, FaultKind
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
    code: str = error["extensions"]["code"]
    return code


class NoRetryTables(Tables):
    """Table handles without retries, so that the first fault reaches the caller."""

    def for_tenant(
        self,
        location: TenantLocation,
        *,
        may_write: bool,
        meter: CapacityMeter | None = None,
        call_limit: CallLimit | None = None,
    ) -> Table:
        table = Tables.for_tenant(self, location, may_write=may_write, meter=meter, call_limit=call_limit)
        return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=1)))


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """The responses and the items after a fault, and after the repetition of the mutation."""

    failed_write: int
    """The number of the write that failed, from 1."""
    failed_answer: Answer
    items_after_failure: Snapshot
    repeated_answer: Answer
    items_after_repetition: Snapshot


@dataclass(frozen=True, slots=True)
class FaultyChange:
    """A mutation, and the items of its tenant before it."""

    stack: ServiceStack
    session: ApiClient
    mutation: str
    variables: Mapping[str, Any]
    tenant_items: TenantItems
    before: Snapshot

    @classmethod
    def of_mutation(cls, stack: ServiceStack, session: ApiClient, mutation: str, **variables: Any) -> "FaultyChange":
        tenant_items = TenantItems.of(stack, session.tenant)
        return cls(stack, session, mutation, variables, tenant_items, tenant_items.snapshot())

    async def without_faults(self) -> tuple[Answer, Snapshot, int]:
        """Runs the mutation without faults. Returns the response, the items afterwards, and the number of writes."""
        self.tenant_items.restore(self.before)
        self.stack.take_calls()
        answer = await self._execute(self.session)
        assert "errors" not in answer, answer
        calls = [call.operation for call in self.stack.take_calls()]
        assert WRITE_OPERATIONS.intersection(calls) == {"TransactWriteItems"}
        return answer, self.tenant_items.snapshot(), calls.count("TransactWriteItems")

    async def with_retries(self) -> AsyncIterator[tuple[Answer, Snapshot]]:
        """Runs the mutation once for each write, with all kinds of faults at that write. The service must retry.

        Yields the response and the items afterwards."""
        _, _, writes = await self.without_faults()
        for write_number in range(1, writes + 1):
            self.tenant_items.restore(self.before)
            self.stack.take_calls()
            answer = await self._execute_with_faults(self.session, write_number, *KINDS)
            assert [call.operation for call in self.stack.take_calls()].count("TransactWriteItems") == writes + len(
                KINDS
            )
            yield answer, self.tenant_items.snapshot()

    async def failed_and_repeated(self, kind: FaultKind) -> AsyncIterator[FaultOutcome]:
        """Runs the mutation once for each write, with a fault at that write and without retries. Then runs it
        again without a fault."""
        session, write_number = self._session_without_retries(), 1
        while True:
            self.tenant_items.restore(self.before)
            failed_answer = await self._execute_with_faults(session, write_number, kind)
            if "errors" not in failed_answer:
                return
            items_after_failure = self.tenant_items.snapshot()
            yield FaultOutcome(
                write_number,
                failed_answer,
                items_after_failure,
                await self._execute(session),
                self.tenant_items.snapshot(),
            )
            write_number += 1

    def _session_without_retries(self) -> ApiClient:
        tables = self.stack.tables
        no_retry_tables = NoRetryTables(
            client=tables.client,
            name=tables.name,
            cursors=tables.cursors,
            index_tags=tables.index_tags,
            credentials=tables.credentials,
        )
        return replace(self.session, application=self.stack.serve(tables=no_retry_tables))

    async def _execute_with_faults(self, session: ApiClient, first_write: int, *kinds: FaultKind) -> Answer:
        self.stack.gate.faults = [
            Fault(kind=kind, operation="TransactWriteItems", nth=number)
            for number, kind in enumerate(kinds, start=first_write)
        ]
        try:
            return await self._execute(session)
        finally:
            self.stack.gate.faults = ()

    async def _execute(self, session: ApiClient) -> Answer:
        return await session.execute(self.mutation, **self.variables)
