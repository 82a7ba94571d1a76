"""Writes to two tables in one transaction."""

import asyncio
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from keyfence.errors import KeyfenceError, Throttled
from keyfence.store.codec import Item
from keyfence.store.dual_write.item_sync import (
    ComparableAnswer,
    ItemSync,
    SyncOutcome,
    comparable_answer,
    differ_permanently,
    on_table,
)
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.errors import CANCELLATION_RULES, RETRY_AFTER_MS, DynamoDbError
from keyfence_iam.tenant import TenantId

Member = Mapping[str, Mapping[str, Any]]

FINE = "None"
BEHIND = frozenset({"ConditionalCheckFailed", "ValidationError"})
"""What the twin of an update is cancelled for where the other table lacks the item, or has an older one."""


@dataclass(frozen=True, slots=True)
class DualTransaction:
    """`twins` are those that go to the other table, by the place of the member that they are twins of."""

    members: Sequence[Member]
    copies: Mapping[int, Member]

    @classmethod
    def for_tables(cls, members: Sequence[Member], table: str, made: Collection[int] = ()) -> "DualTransaction":
        """Updates are for items that the other table has, but for those at the places in `made`: they make them."""
        both = {at: _twin(member, table, makes=at in made) for at, member in enumerate(members)}
        return cls(members, {at: twin for at, twin in both.items() if twin})

    def all(self) -> list[Member]:
        return [*self.members, *self.copies.values()]

    def missing_in_copy(self, refusal: DynamoDbError) -> dict[int, Item]:
        """The keys of the items, by place, that the other table has to be given before this can be tried again.

        Where a member is itself at fault there are none: it would be again."""
        keys: dict[int, Item] = {at: twin["Update"]["Key"] for at, twin in self.copies.items() if "Update" in twin}
        if refusal.code == "ValidationException":
            return keys
        own, others = self._reasons(refusal)
        if any(not _passing(reason) for reason in own):
            return {}
        return {at: key for at, key in keys.items() if others.get(at) in BEHIND}

    def as_single_table(self, refusal: DynamoDbError) -> DynamoDbError:
        """As if there were no twins: a member is busy if its twin is."""
        if not refusal.cancellation_reasons:
            return refusal
        own, others = self._reasons(refusal)
        reasons = tuple(
            others[at] if reason == FINE and _passing(others.get(at, "")) else reason for at, reason in enumerate(own)
        )
        return DynamoDbError(refusal.code, str(refusal), reasons, refusal.consumed_capacity)

    def _reasons(self, refusal: DynamoDbError) -> tuple[tuple[str, ...], dict[int, str]]:
        own, others = (
            refusal.cancellation_reasons[: len(self.members)],
            refusal.cancellation_reasons[len(self.members) :],
        )
        return own, dict(zip(self.copies, others, strict=False))


def _passing(reason: str) -> bool:
    return reason == FINE or (reason in CANCELLATION_RULES and CANCELLATION_RULES[reason].retryable)


def _twin(member: Member, table: str, *, makes: bool) -> Member | None:
    ((verb, body),) = member.items()
    if verb == "ConditionCheck":
        return None
    if verb == "Update":
        return {verb: {"TableName": table, **(_plain(body) if makes else _if_there(body))}}
    subject = "Item" if verb == "Put" else "Key"
    return {verb: {"TableName": table, subject: body[subject]}}


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Without its condition, and so without what only that names: DynamoDB refuses what no expression uses."""
    used = set(re.findall(r"[#:]\w+", body["UpdateExpression"]))
    maps = {
        name: {key: value for key, value in body.get(name, {}).items() if key in used}
        for name in ("ExpressionAttributeNames", "ExpressionAttributeValues")
    }
    update = {"Key": body["Key"], "UpdateExpression": body["UpdateExpression"]}
    return update | {name: placed for name, placed in maps.items() if placed}


def _if_there(body: Mapping[str, Any]) -> dict[str, Any]:
    plain = _plain(body)
    names = {**plain.get("ExpressionAttributeNames", {}), "#there": "PK"}
    return {**plain, "ConditionExpression": "attribute_exists(#there)", "ExpressionAttributeNames": names}


MEMBERS = 100
"""What DynamoDB takes in a transaction."""
MAX_ATTEMPTS = 6
AFTER_THE_MOVE_MS = 60_000

OnDifference = Callable[[TenantId, str], None]

log = structlog.get_logger(__name__)


def ignore_difference(_tenant: TenantId, _operation: str) -> None:
    """Nobody is told of differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DualWriteCaller(DynamoDbCaller):
    """Whoever asks names the table that is read; what is written there is written to `also` in the same transaction."""

    second_table: str
    on_difference: OnDifference = ignore_difference

    async def call(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool = False) -> Answer:
        match operation:
            case "TransactWriteItems":
                return await self._transact(parameters)
            case "BatchWriteItem":
                return await self._transact(_together(parameters))
            case "GetItem" | "Query" | "BatchGetItem" | "TransactGetItems":
                return await self._read(operation, parameters, is_retry=is_retry)
        raise TypeError(f"{operation} is not made on two tables")

    async def _transact(self, parameters: Mapping[str, Any]) -> Answer:
        """An update's twin needs the item in the other table: where it is missing there, it is copied first.

        What the source does not have either the update makes, in both."""
        twins, until = (
            DualTransaction.for_tables(parameters["TransactItems"], self.second_table),
            self.location.valid_until,
        )
        token, made = parameters["ClientRequestToken"], set[int]()
        for attempt in range(MAX_ATTEMPTS):
            try:
                return await self._both(twins, token, until)
            except DynamoDbError as refusal:
                if not (behind := twins.missing_in_copy(refusal)) or attempt == MAX_ATTEMPTS - 1:
                    raise _ended(twins, refusal, bool(behind)) from refusal
            outcomes = {at: await self._likeness.sync(key) for at, key in behind.items()}
            if nowhere := {at for at, outcome in outcomes.items() if outcome is SyncOutcome.ABSENT} - made:
                made |= nowhere
                twins, token = DualTransaction.for_tables(twins.members, self.second_table, made), uuid.uuid4().hex
            await asyncio.sleep(self.retry_policy.backoff(attempt))
        raise AssertionError("the last round ends in an answer or in an error")

    async def _both(self, twins: DualTransaction, token: str, until: float) -> Answer:
        if len(members := twins.all()) > MEMBERS:
            text = "the tenant is being moved, and so large a change has to wait until it has arrived; retry then"
            raise Throttled(text, retryAfterMs=AFTER_THE_MOVE_MS)
        parameters = {"TransactItems": members, "ClientRequestToken": token}
        return await self._call_until("TransactWriteItems", parameters, until)

    @property
    def _likeness(self) -> ItemSync:
        return ItemSync(caller=self, source=self.table, target=self.second_table)

    async def _read(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool) -> Answer:
        if not self.location.compare_reads:
            return await DynamoDbCaller.call(self, operation, parameters, is_retry=is_retry)
        answer, other = await asyncio.gather(
            DynamoDbCaller.call(self, operation, parameters, is_retry=is_retry),
            self._comparable(self.second_table, operation, parameters),
        )
        if comparable_answer(answer, self.table) not in (None, other):
            await self._doubt(operation, parameters)
        return answer

    async def _doubt(self, operation: str, parameters: Mapping[str, Any]) -> None:
        async def look() -> tuple[ComparableAnswer, ComparableAnswer]:
            asked = (
                self._comparable(table, operation, parameters, consistent=True)
                for table in (self.table, self.second_table)
            )
            one, other = await asyncio.gather(*asked)
            return one, other

        if self.location.tenant is not None and await differ_permanently(look, self.retry_policy):
            log.error(
                "shadow_differs", tenant=self.location.tenant, operation=operation, index=parameters.get("IndexName")
            )
            self.on_difference(self.location.tenant, operation)

    async def _comparable(
        self, table: str, operation: str, parameters: Mapping[str, Any], *, consistent: bool = False
    ) -> ComparableAnswer:
        """Whoever asked is answered by the table that is read, whatever becomes of this."""
        try:
            return comparable_answer(
                await DynamoDbCaller.call(self, operation, on_table(table, parameters, consistent=consistent)), table
            )
        except (DynamoDbError, KeyfenceError) as error:
            log.warning("shadow_unread", tenant=self.location.tenant, operation=operation, text=str(error))
            return None


def _ended(twins: DualTransaction, refusal: DynamoDbError, behind: bool) -> Exception:
    if behind and refusal.code == "TransactionCanceledException":
        return Throttled(
            "the tenant is being moved, and this is in the way just now; retry", retryAfterMs=RETRY_AFTER_MS
        )
    return twins.as_single_table(refusal)


def _together(batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch as a transaction: its requests name their table once, and each member for itself."""
    ((table, requests),) = batch["RequestItems"].items()
    members = [
        {verb.removesuffix("Request"): {"TableName": table, **body}} for one in requests for verb, body in one.items()
    ]
    return {"TransactItems": members, "ClientRequestToken": uuid.uuid4().hex}
