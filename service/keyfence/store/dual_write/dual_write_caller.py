"""`DualWriteCaller`: the calls of a tenant that moves to another table. Every write goes to both tables."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from keyfence.errors import KeyfenceError, Throttled
from keyfence.store.dual_write.dual_transaction import DualTransaction, batch_as_transaction
from keyfence.store.dual_write.item_sync import ItemSync, SyncOutcome
from keyfence.store.dual_write.read_comparison import (
    ComparableAnswer,
    comparable_answer,
    differ_permanently,
    parameters_for_table,
)
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import RETRY_AFTER_MS, DynamoDbError
from keyfence_iam.tenant import TenantId

MAX_ACTIONS = 100
"""DynamoDB's limit for the actions of a transaction."""
MAX_ATTEMPTS = 6
"""How often a transaction is tried if it fails because items are missing in the second table."""
RETRY_AFTER_MOVE_MS = 60_000
"""How long a client should wait before it repeats a change that is too large for two tables. Such a change can only
succeed after the move."""

OnDifference = Callable[[TenantId, str], None]
"""A function that receives the tenant and the operation when the two tables give different answers."""

log = structlog.get_logger(__name__)


def ignore_difference(_tenant: TenantId, _operation: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DualWriteCaller(DynamoDbCaller):
    """Reads from `table`, and writes to `table` and `second_table` in one transaction. Users of the caller pass
    parameters for `table` only."""

    second_table: str
    on_difference: OnDifference = ignore_difference

    async def call(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool = False) -> Answer:
        match operation:
            case "TransactWriteItems":
                return await self._write_both(parameters)
            case "BatchWriteItem":
                return await self._write_both(batch_as_transaction(parameters))
            case "GetItem" | "Query" | "BatchGetItem" | "TransactGetItems":
                return await self._read(operation, parameters, is_retry=is_retry)
        raise TypeError(f"{operation} cannot be made on two tables")

    async def _write_both(self, parameters: Mapping[str, Any]) -> Answer:
        """Makes a transaction on both tables.

        If the second table does not have an item that is updated, the item is copied there and the transaction is
        tried again. If the first table does not have the item either, the update creates it in both tables."""
        transaction = DualTransaction.for_tables(parameters["TransactItems"], self.second_table)
        valid_until = self.location.valid_until
        token = parameters["ClientRequestToken"]
        new_item_positions = set[int]()
        for attempt in range(MAX_ATTEMPTS):
            try:
                return await self._transact(transaction, token, valid_until)
            except DynamoDbError as error:
                missing_keys = transaction.missing_copies(error)
                if not missing_keys or attempt == MAX_ATTEMPTS - 1:
                    raise _final_error(transaction, error, is_copy_missing=bool(missing_keys)) from error
            outcomes = {position: await self._item_sync.sync(key) for position, key in missing_keys.items()}
            absent_positions = {position for position, outcome in outcomes.items() if outcome is SyncOutcome.ABSENT}
            if absent_positions - new_item_positions:
                new_item_positions |= absent_positions
                transaction = DualTransaction.for_tables(transaction.actions, self.second_table, new_item_positions)
                # DynamoDB rejects a token that it has seen with other actions.
                token = uuid.uuid4().hex
            await asyncio.sleep(self.retry_policy.backoff_seconds(attempt))
        raise AssertionError("the last attempt returns or raises")

    async def _transact(self, transaction: DualTransaction, token: str, valid_until: float) -> Answer:
        actions = transaction.all_actions()
        if len(actions) > MAX_ACTIONS:
            message = "the change is too large while the tenant moves to another table; retry after the move"
            raise Throttled(message, retryAfterMs=RETRY_AFTER_MOVE_MS)
        parameters = {"TransactItems": actions, "ClientRequestToken": token}
        return await self._call_until("TransactWriteItems", parameters, valid_until)

    @property
    def _item_sync(self) -> ItemSync:
        return ItemSync(caller=self, source=self.table, target=self.second_table)

    async def _read(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool) -> Answer:
        """Reads from the first table. If `location.compare_reads` is True, also reads from the second table and
        compares the answers."""
        if not self.location.compare_reads:
            return await DynamoDbCaller.call(self, operation, parameters, is_retry=is_retry)
        answer, second_answer = await asyncio.gather(
            DynamoDbCaller.call(self, operation, parameters, is_retry=is_retry),
            self._read_for_comparison(self.second_table, operation, parameters),
        )
        if comparable_answer(answer, self.table) not in (None, second_answer):
            await self._report_difference(operation, parameters)
        return answer

    async def _report_difference(self, operation: str, parameters: Mapping[str, Any]) -> None:
        """Reads both tables again several times. Logs and reports the difference if it does not disappear."""

        async def read_both() -> tuple[ComparableAnswer, ComparableAnswer]:
            first, second = await asyncio.gather(
                self._read_for_comparison(self.table, operation, parameters, consistent=True),
                self._read_for_comparison(self.second_table, operation, parameters, consistent=True),
            )
            return first, second

        tenant = self.location.tenant
        if tenant is not None and await differ_permanently(read_both, self.retry_policy):
            log.error("second_table_differs", tenant=tenant, operation=operation, index=parameters.get("IndexName"))
            self.on_difference(tenant, operation)

    async def _read_for_comparison(
        self, table: str, operation: str, parameters: Mapping[str, Any], *, consistent: bool = False
    ) -> ComparableAnswer:
        """Reads from one table. If the read fails, logs the error and returns None: a failed comparison must not fail
        the request."""
        table_parameters = parameters_for_table(table, parameters, consistent=consistent)
        try:
            answer = await DynamoDbCaller.call(self, operation, table_parameters)
        except (DynamoDbError, KeyfenceError) as error:
            log.warning("comparison_read_failed", tenant=self.location.tenant, operation=operation, text=str(error))
            return None
        return comparable_answer(answer, table)


def _final_error(transaction: DualTransaction, error: DynamoDbError, *, is_copy_missing: bool) -> Exception:
    if is_copy_missing and error.code == "TransactionCanceledException":
        message = "the tenant moves to another table, and an item of this change is being copied; retry shortly"
        return Throttled(message, retryAfterMs=RETRY_AFTER_MS)
    return transaction.as_single_table_error(error)
