"""`DualWriteCaller`: the calls of a tenant that moves to another table. Every write goes to both tables."""

import asyncio
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from keyfence.errors import KeyfenceError, Throttled
from keyfence.store.codec import Item
from keyfence.store.dual_write.item_sync import ItemSync, SyncOutcome
from keyfence.store.dual_write.read_comparison import ComparableAnswer, comparable_answer, differ_permanently, on_table
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import CANCELLATION_RULES, RETRY_AFTER_MS, DynamoDbError
from keyfence_iam.tenant import TenantId

MAX_ACTIONS = 100
"""DynamoDB's limit for a transaction."""
MAX_ATTEMPTS = 6
RETRY_AFTER_MOVE_MS = 60_000

_NOT_THE_REASON = "None"
_COPY_IS_MISSING = frozenset({"ConditionalCheckFailed", "ValidationError"})
"""Why an update of the copy fails if the second table does not have the item, or has an older one."""

Action = Mapping[str, Mapping[str, Any]]
"""An element of TransactItems."""
OnDifference = Callable[[TenantId, str], None]

log = structlog.get_logger(__name__)


def ignore_difference(_tenant: TenantId, _operation: str) -> None: ...


@dataclass(frozen=True, slots=True)
class DualTransaction:
    """A transaction on the first table, with a copy of each write for the second table.

    `copies` are by the position of their original. A ConditionCheck has no copy."""

    actions: Sequence[Action]
    copies: Mapping[int, Action]

    @classmethod
    def for_tables(
        cls, actions: Sequence[Action], second_table: str, creates: Collection[int] = ()
    ) -> "DualTransaction":
        """Updates of copies need the item in the second table. Those at the positions in `creates` create it."""
        copies = {
            position: _copy_of(action, second_table, creates=position in creates)
            for position, action in enumerate(actions)
        }
        return cls(actions, {position: copy for position, copy in copies.items() if copy})

    def all(self) -> list[Action]:
        return [*self.actions, *self.copies.values()]

    def missing_copies(self, error: DynamoDbError) -> dict[int, Item]:
        """Returns the keys of items, by position, that must be copied to the second table before a retry.

        Returns none if an action on the first table is itself a reason: it would fail again."""
        updated: dict[int, Item] = {
            position: copy["Update"]["Key"] for position, copy in self.copies.items() if "Update" in copy
        }
        if error.code == "ValidationException":
            return updated
        own, of_copies = self._reasons(error)
        if not all(_may_pass(reason) for reason in own):
            return {}
        return {position: key for position, key in updated.items() if of_copies.get(position) in _COPY_IS_MISSING}

    def as_single_table(self, error: DynamoDbError) -> DynamoDbError:
        """Returns the error as if there were no copies. Retryable reasons of copies become those of their originals."""
        if not error.cancellation_reasons:
            return error
        own, of_copies = self._reasons(error)
        reasons = tuple(
            of_copies[position] if reason == _NOT_THE_REASON and _may_pass(of_copies.get(position, "")) else reason
            for position, reason in enumerate(own)
        )
        return DynamoDbError(error.code, str(error), reasons, error.consumed_capacity)

    def _reasons(self, error: DynamoDbError) -> tuple[tuple[str, ...], dict[int, str]]:
        own, of_copies = (
            error.cancellation_reasons[: len(self.actions)],
            error.cancellation_reasons[len(self.actions) :],
        )
        return own, dict(zip(self.copies, of_copies, strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class DualWriteCaller(DynamoDbCaller):
    """Calls name the first table, which is read. Writes go to `second_table` too, in the same transaction."""

    second_table: str
    on_difference: OnDifference = ignore_difference

    async def call(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool = False) -> Answer:
        match operation:
            case "TransactWriteItems":
                return await self._transact(parameters)
            case "BatchWriteItem":
                return await self._transact(_as_transaction(parameters))
            case "GetItem" | "Query" | "BatchGetItem" | "TransactGetItems":
                return await self._read(operation, parameters, is_retry=is_retry)
        raise TypeError(f"{operation} cannot be made on two tables")

    async def _transact(self, parameters: Mapping[str, Any]) -> Answer:
        """Makes a transaction on both tables. If an item to update is missing in the second table, it is copied first.
        If the first table does not have it either, the update creates it in both."""
        dual = DualTransaction.for_tables(parameters["TransactItems"], self.second_table)
        valid_until, token, creates = self.location.valid_until, parameters["ClientRequestToken"], set[int]()
        for attempt in range(MAX_ATTEMPTS):
            try:
                return await self._transact_both(dual, token, valid_until)
            except DynamoDbError as error:
                missing = dual.missing_copies(error)
                if not missing or attempt == MAX_ATTEMPTS - 1:
                    raise _final_error(dual, error, is_missing=bool(missing)) from error
            outcomes = {position: await self._item_sync.sync(key) for position, key in missing.items()}
            absent = {position for position, outcome in outcomes.items() if outcome is SyncOutcome.ABSENT}
            if absent - creates:
                creates |= absent
                dual = DualTransaction.for_tables(dual.actions, self.second_table, creates)
                token = uuid.uuid4().hex
            await asyncio.sleep(self.retry_policy.backoff_seconds(attempt))
        raise AssertionError("the last attempt returns or raises")

    async def _transact_both(self, dual: DualTransaction, token: str, valid_until: float) -> Answer:
        if len(actions := dual.all()) > MAX_ACTIONS:
            message = "the change is too large while the tenant moves to another table; retry after the move"
            raise Throttled(message, retryAfterMs=RETRY_AFTER_MOVE_MS)
        parameters = {"TransactItems": actions, "ClientRequestToken": token}
        return await self._call_until("TransactWriteItems", parameters, valid_until)

    @property
    def _item_sync(self) -> ItemSync:
        return ItemSync(caller=self, source=self.table, target=self.second_table)

    async def _read(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool) -> Answer:
        if not self.location.compare_reads:
            return await DynamoDbCaller.call(self, operation, parameters, is_retry=is_retry)
        answer, other = await asyncio.gather(
            DynamoDbCaller.call(self, operation, parameters, is_retry=is_retry),
            self._comparable(self.second_table, operation, parameters),
        )
        if comparable_answer(answer, self.table) not in (None, other):
            await self._report_difference(operation, parameters)
        return answer

    async def _report_difference(self, operation: str, parameters: Mapping[str, Any]) -> None:
        """Compares the tables again, and reports the difference if it is permanent."""

        async def read_both() -> tuple[ComparableAnswer, ComparableAnswer]:
            tables = (self.table, self.second_table)
            reads = (self._comparable(table, operation, parameters, consistent=True) for table in tables)
            first, second = await asyncio.gather(*reads)
            return first, second

        tenant = self.location.tenant
        if tenant is not None and await differ_permanently(read_both, self.retry_policy):
            log.error("shadow_differs", tenant=tenant, operation=operation, index=parameters.get("IndexName"))
            self.on_difference(tenant, operation)

    async def _comparable(
        self, table: str, operation: str, parameters: Mapping[str, Any], *, consistent: bool = False
    ) -> ComparableAnswer:
        """Reads from one table for the comparison. Logs errors and does not raise them: the client gets its answer from
        the first table."""
        try:
            answer = await DynamoDbCaller.call(self, operation, on_table(table, parameters, consistent=consistent))
        except (DynamoDbError, KeyfenceError) as error:
            log.warning("shadow_unread", tenant=self.location.tenant, operation=operation, text=str(error))
            return None
        return comparable_answer(answer, table)


def _may_pass(reason: str) -> bool:
    """Whether the action was not the reason for the error, or may succeed in a retry."""
    return reason == _NOT_THE_REASON or (reason in CANCELLATION_RULES and CANCELLATION_RULES[reason].is_retryable)


def _copy_of(action: Action, table: str, *, creates: bool) -> Action | None:
    ((verb, body),) = action.items()
    if verb == "ConditionCheck":
        return None
    if verb == "Update":
        return {verb: {"TableName": table, **(_unconditional(body) if creates else _if_exists(body))}}
    item_or_key = "Item" if verb == "Put" else "Key"
    return {verb: {"TableName": table, item_or_key: body[item_or_key]}}


def _unconditional(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an update without its condition, and without the placeholders of the condition: DynamoDB rejects unused
    ones."""
    used = set(re.findall(r"[#:]\w+", body["UpdateExpression"]))
    maps = {
        name: {placeholder: value for placeholder, value in body.get(name, {}).items() if placeholder in used}
        for name in ("ExpressionAttributeNames", "ExpressionAttributeValues")
    }
    update = {"Key": body["Key"], "UpdateExpression": body["UpdateExpression"]}
    return update | {name: content for name, content in maps.items() if content}


def _if_exists(body: Mapping[str, Any]) -> dict[str, Any]:
    update = _unconditional(body)
    names = {**update.get("ExpressionAttributeNames", {}), "#exists": "PK"}
    return {**update, "ConditionExpression": "attribute_exists(#exists)", "ExpressionAttributeNames": names}


def _final_error(dual: DualTransaction, error: DynamoDbError, *, is_missing: bool) -> Exception:
    if is_missing and error.code == "TransactionCanceledException":
        message = "the tenant moves to another table, and the same items are being copied; retry shortly"
        return Throttled(message, retryAfterMs=RETRY_AFTER_MS)
    return dual.as_single_table(error)


def _as_transaction(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a BatchWriteItem as a transaction."""
    ((table, requests),) = batch["RequestItems"].items()
    actions = [
        {verb.removesuffix("Request"): {"TableName": table, **body}}
        for request in requests
        for verb, body in request.items()
    ]
    return {"TransactItems": actions, "ClientRequestToken": uuid.uuid4().hex}
