"""A call with credentials, limits, metering, retries; batches; observers."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import structlog

from keyfence.errors import Throttled
from keyfence.store.codec import Item
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.dynamodb.errors import RETRY_AFTER_MS, SERVICE_FAILURE, THROTTLING, DynamoDbError
from keyfence.store.location import LEASE_LOST, TenantLocation
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId


class ObservedCall(NamedTuple):
    """A call; `again` where it asks for nothing that was not asked for before, and turned away."""

    tenant: TenantId | None
    operation: str
    parameters: Mapping[str, Any]
    is_retry: bool = False


class CallObserver(Protocol):
    """Shown every call, and so to be quick."""

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None: ...
    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None: ...


class NoObserver:
    """Looks at nothing."""

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None: ...
    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None: ...


NO_OBSERVER: CallObserver = NoObserver()


CredentialSource = Callable[[], Awaitable[Credentials]]
CallLimit = AbstractAsyncContextManager[object]

UNLIMITED: CallLimit = nullcontext()


@runtime_checkable
class RenewableCredentials(Protocol):
    """A source of credentials that may have others when some are refused."""

    async def replace(self, refused: Credentials) -> Credentials | None: ...


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a call is tried, and the bounds of the pauses between: each is random up to a doubling ceiling."""

    attempts: int = 6
    first_pause: float = 0.025
    longest_pause: float = 1.0

    def backoff(self, attempt: int) -> float:
        return random.uniform(0, min(self.longest_pause, self.first_pause * 2**attempt))  # noqa: S311


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoDbCaller:
    """Makes the calls of one table handle, with the credentials that belong to it and no others."""

    client: DynamoDb
    table: str
    credentials: CredentialSource
    meter: CapacityMeter = field(default_factory=CapacityMeter)
    retry_policy: RetryPolicy = RetryPolicy()
    on_denied: Callable[[], None] = lambda: None
    call_limit: CallLimit = UNLIMITED
    """Where a call waits for its turn, so that no tenant takes all of the client's threads."""
    location: TenantLocation = field(default_factory=TenantLocation)
    clock: Callable[[], float] = time.monotonic
    observer: CallObserver = NO_OBSERVER

    async def call(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool = False) -> Answer:
        """Only what a code's meaning allows is tried again; transactions carry a token, so none of them acts twice.

        `again` is for what is left over of an earlier call."""
        return await self._call_until(operation, parameters, self.location.valid_until, is_retry=is_retry)

    async def _call_until(
        self, operation: str, parameters: Mapping[str, Any], until: float, *, is_retry: bool = False
    ) -> Answer:
        """Not after `until`, by which the parameters were made: a home that is renewed meanwhile may say otherwise."""
        asked = ObservedCall(self.location.tenant, operation, parameters, is_retry)
        for attempt in range(self.retry_policy.attempts):
            try:
                answer = await self._once(operation, parameters, until)
            except DynamoDbError as refusal:
                asked = self._show(asked, refusal)
                if not refusal.rule.retryable or attempt == self.retry_policy.attempts - 1:
                    self._report(operation, refusal)
                    raise
                log.debug("dynamodb_retry", operation=operation, code=refusal.code, attempt=attempt + 1)
            else:
                self.observer.on_answer(asked, answer)
                return answer
            await asyncio.sleep(self.retry_policy.backoff(attempt))
        raise AssertionError("patience needs at least one attempt")

    async def _once(self, operation: str, parameters: Mapping[str, Any], until: float) -> Answer:
        """Once more in another session, if there is one, where it may be the session that is refused."""
        credentials = await self.credentials()
        try:
            return await self._signed(operation, parameters, credentials, until)
        except DynamoDbError as refusal:
            other = await _replacement(self.credentials, credentials) if refusal.rule.new_session_may_help else None
            if other is None:
                raise
            log.info("session_replaced", operation=operation, code=refusal.code)
        return await self._signed(operation, parameters, other, until)

    async def _signed(
        self, operation: str, parameters: Mapping[str, Any], credentials: Credentials, until: float
    ) -> Answer:
        metered = {**parameters, "ReturnConsumedCapacity": "TOTAL"}
        try:
            async with self.call_limit, _threads(self.client):
                self._check_home(until)
                answer = await self.client.call(operation, metered, credentials)
                self.meter.record(operation, answer)
        except DynamoDbError as refusal:
            self.meter.record_error(operation, refusal.consumed_capacity, throttled=refusal.rule is THROTTLING)
            raise
        return answer

    def _check_home(self, until: float) -> None:
        """Last thing before a call: items may lie elsewhere by now, and where they lie is not guessed."""
        now = self.clock()
        if now > min(until, self.location.valid_until):
            raise Throttled(self.location.expired_message, retryAfterMs=RETRY_AFTER_MS)
        if now > self.location.leased_until:
            raise Throttled(LEASE_LOST, retryAfterMs=RETRY_AFTER_MS)

    def _show(self, asked: ObservedCall, refusal: DynamoDbError) -> ObservedCall:
        """As it is asked the next time: what was lost on the way may never have reached a partition."""
        self.observer.on_error(asked, refusal)
        return asked if refusal.rule is SERVICE_FAILURE else asked._replace(is_retry=True)

    def _report(self, operation: str, refusal: DynamoDbError) -> None:
        """What the caller will not be told in full; a condition that does not hold is nobody's fault."""
        if refusal.code == "AccessDeniedException":
            log.error("dynamodb_denied", operation=operation, text=str(refusal))
            self.on_denied()
        elif refusal.code not in {"TransactionCanceledException", "ConditionalCheckFailedException"}:
            log.error("dynamodb_refused", operation=operation, code=refusal.code, text=str(refusal))


def _threads(client: DynamoDb) -> CallLimit:
    """Where a client's calls wait for a thread of its own. Asked for every call, and a protocol is slow to tell."""
    threads: CallLimit = getattr(client, "threads", UNLIMITED)
    return threads


async def _replacement(source: object, refused: Credentials) -> Credentials | None:
    return await source.replace(refused) if isinstance(source, RenewableCredentials) else None


T = TypeVar("T")
MAX_BATCH_GETS = 100
MAX_BATCH_WRITES = 25


async def get_many(caller: DynamoDbCaller, keys: Sequence[Item], *, consistent: bool) -> list[Item]:
    """The items that exist among these distinct keys, in no particular order."""
    chunks = await asyncio.gather(*(_get(caller, chunk, consistent) for chunk in _chunks(keys, MAX_BATCH_GETS)))
    return [item for chunk in chunks for item in chunk]


async def transact_get(caller: DynamoDbCaller, keys: Sequence[Item]) -> list[Item]:
    """The items that exist among these distinct keys, all of them as they were at one moment."""
    gets = [{"Get": {"TableName": caller.table, "Key": key}} for key in keys]
    answer = await caller.call("TransactGetItems", {"TransactItems": gets})
    return [one["Item"] for one in answer["Responses"] if one.get("Item")]


async def delete_many(caller: DynamoDbCaller, keys: Sequence[Item]) -> None:
    for chunk in _chunks(keys, MAX_BATCH_WRITES):
        await _drain(caller, "BatchWriteItem", [{"DeleteRequest": {"Key": key}} for key in chunk])


async def put_many(caller: DynamoDbCaller, items: Sequence[Item]) -> None:
    for chunk in _chunks(items, MAX_BATCH_WRITES):
        await _drain(caller, "BatchWriteItem", [{"PutRequest": {"Item": item}} for item in chunk])


async def _get(caller: DynamoDbCaller, keys: Sequence[Item], consistent: bool) -> list[Item]:
    return await _drain(caller, "BatchGetItem", {"Keys": list(keys), "ConsistentRead": consistent})


async def _drain(caller: DynamoDbCaller, operation: str, wanted: Any) -> list[Item]:
    """Ask until nothing is left over; each round must fit the caller's patience."""
    items: list[Item] = []
    for attempt in range(caller.retry_policy.attempts):
        answer = await caller.call(operation, {"RequestItems": {caller.table: wanted}}, is_retry=attempt > 0)
        items += answer.get("Responses", {}).get(caller.table, [])
        left = answer.get("UnprocessedKeys") or answer.get("UnprocessedItems") or {}
        if not left:
            return items
        wanted = left[caller.table]
        await asyncio.sleep(caller.retry_policy.backoff(attempt))
    raise DynamoDbError("ProvisionedThroughputExceededException", f"{operation} still had work left over")


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
