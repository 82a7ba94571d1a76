"""`DynamoDbCaller`: calls of one table handle, with credentials, limits, metering and retries."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import structlog

from keyfence.errors import Throttled
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.dynamodb.error_codes import RETRY_AFTER_MS, SERVICE_FAILURE, THROTTLING, DynamoDbError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.tenant_location import LEASE_LOST, TenantLocation
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId

CALL_RETRIES = RetryPolicy()

CredentialSource = Callable[[], Awaitable[Credentials]]
CallLimit = AbstractAsyncContextManager[object]
UNLIMITED: CallLimit = nullcontext()

log = structlog.get_logger(__name__)


class ObservedCall(NamedTuple):
    """A call as observers see it. `is_retry` if an earlier call with the same requests reached DynamoDB already."""

    tenant: TenantId | None
    operation: str
    parameters: Mapping[str, Any]
    is_retry: bool = False


class CallObserver(Protocol):
    """Hears of the result of every call. It must be fast, because calls wait for it."""

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None: ...
    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None: ...


class NoObserver:
    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None: ...
    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None: ...


NO_OBSERVER: CallObserver = NoObserver()


@runtime_checkable
class RenewableCredentials(Protocol):
    """A source of credentials that may have newer ones when DynamoDB denies a call."""

    async def replace(self, refused: Credentials) -> Credentials | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoDbCaller:
    """Makes the calls of one table handle, with the credentials of its fence."""

    client: DynamoDb
    table: str
    credentials: CredentialSource
    meter: CapacityMeter = field(default_factory=CapacityMeter)
    retry_policy: RetryPolicy = CALL_RETRIES
    on_denied: Callable[[], None] = lambda: None
    call_limit: CallLimit = UNLIMITED
    """Every call enters this first, so that one tenant cannot occupy all threads of the client."""
    location: TenantLocation = field(default_factory=TenantLocation)
    clock: Callable[[], float] = time.monotonic
    observer: CallObserver = NO_OBSERVER

    async def call(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool = False) -> Answer:
        """Makes a call, and repeats it if the error is retryable. Raises DynamoDbError.

        Transactions have a ClientRequestToken, so a repeated one does not write twice. Set `is_retry` for requests that
        an earlier call left unprocessed."""
        return await self._call_until(operation, parameters, self.location.valid_until, is_retry=is_retry)

    async def _call_until(
        self, operation: str, parameters: Mapping[str, Any], valid_until: float, *, is_retry: bool = False
    ) -> Answer:
        """Makes no attempt after `valid_until`: then the location that the parameters were made from has expired. The
        caller's location may be a newer one by then, with other shards."""
        call = ObservedCall(self.location.tenant, operation, parameters, is_retry)
        for attempt in range(self.retry_policy.attempts):
            try:
                answer = await self._attempt(operation, parameters, valid_until)
            except DynamoDbError as error:
                self.observer.on_error(call, error)
                if not error.rule.is_retryable or attempt == self.retry_policy.attempts - 1:
                    self._report(operation, error)
                    raise
                if error.rule is not SERVICE_FAILURE:  # a call that failed on the way may not have reached a partition
                    call = call._replace(is_retry=True)
                log.debug("dynamodb_retry", operation=operation, code=error.code, attempt=attempt + 1)
            else:
                self.observer.on_answer(call, answer)
                return answer
            await asyncio.sleep(self.retry_policy.backoff(attempt))
        raise AssertionError("a retry policy has at least one attempt")

    async def _attempt(self, operation: str, parameters: Mapping[str, Any], valid_until: float) -> Answer:
        """Makes a call. If the session may be the reason for an error, makes it again in a newer session, if any."""
        credentials = await self.credentials()
        try:
            return await self._send(operation, parameters, credentials, valid_until)
        except DynamoDbError as error:
            newer = await _replace(self.credentials, credentials) if error.rule.new_session_may_help else None
            if newer is None:
                raise
            log.info("session_replaced", operation=operation, code=error.code)
        return await self._send(operation, parameters, newer, valid_until)

    async def _send(
        self, operation: str, parameters: Mapping[str, Any], credentials: Credentials, valid_until: float
    ) -> Answer:
        metered = {**parameters, "ReturnConsumedCapacity": "TOTAL"}
        try:
            async with self.call_limit, _threads(self.client):
                self._check_location(valid_until)
                answer = await self.client.call(operation, metered, credentials)
                self.meter.record(operation, answer)
        except DynamoDbError as error:
            self.meter.record_error(operation, error.consumed_capacity, throttled=error.rule is THROTTLING)
            raise
        return answer

    def _check_location(self, valid_until: float) -> None:
        """Raises Throttled if the items may be elsewhere by now. This is the last step before a call."""
        now = self.clock()
        if now > min(valid_until, self.location.valid_until):
            raise Throttled(self.location.expired_message, retryAfterMs=RETRY_AFTER_MS)
        if now > self.location.leased_until:
            raise Throttled(LEASE_LOST, retryAfterMs=RETRY_AFTER_MS)

    def _report(self, operation: str, error: DynamoDbError) -> None:
        """Logs the details that clients do not see. A condition that does not hold is no error of ours."""
        if error.code == "AccessDeniedException":
            log.error("dynamodb_denied", operation=operation, text=str(error))
            self.on_denied()
        elif error.code not in {"TransactionCanceledException", "ConditionalCheckFailedException"}:
            log.error("dynamodb_refused", operation=operation, code=error.code, text=str(error))


def _threads(client: DynamoDb) -> CallLimit:
    """Returns the limit on the client's threads, if it has one. A check against a Protocol would be slow, and this runs
    for every call."""
    threads: CallLimit = getattr(client, "threads", UNLIMITED)
    return threads


async def _replace(source: object, refused: Credentials) -> Credentials | None:
    return await source.replace(refused) if isinstance(source, RenewableCredentials) else None
