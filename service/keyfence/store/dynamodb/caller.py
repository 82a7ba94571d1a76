"""`DynamoDbCaller`: makes the calls of one table handle, with credentials, limits, metering and retries."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

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
"""The retries of calls that belong to a request. They are few, because a client waits for the answer."""

CredentialSource = Callable[[], Awaitable[Credentials]]
CallLimit = AbstractAsyncContextManager[object]
UNLIMITED: CallLimit = nullcontext()

log = structlog.get_logger(__name__)


class ObservedCall(NamedTuple):
    """A call, as an observer sees it."""

    tenant: TenantId | None
    operation: str
    parameters: Mapping[str, Any]
    is_retry: bool = False
    """Whether an earlier attempt with the same requests has reached DynamoDB."""


class CallObserver(Protocol):
    """Receives the result of every call. An observer must be fast, because every call waits for it."""

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None: ...
    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None: ...


class NoObserver:
    """An observer that does nothing."""

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None: ...
    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None: ...


NO_OBSERVER: CallObserver = NoObserver()


@runtime_checkable
class RenewableCredentials(Protocol):
    """A source of credentials that may have newer credentials after DynamoDB rejected the current ones."""

    async def replace(self, refused: Credentials) -> Credentials | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoDbCaller:
    """Makes the calls of one table handle, with credentials that are limited to the handle's fence."""

    client: DynamoDb
    table: str
    credentials: CredentialSource
    meter: CapacityMeter = field(default_factory=CapacityMeter)
    retry_policy: RetryPolicy = CALL_RETRIES
    on_denied: Callable[[], None] = lambda: None
    """Called when DynamoDB answers AccessDeniedException."""
    call_limit: CallLimit = UNLIMITED
    """Every call enters this limit first, so that one tenant cannot occupy all connections of the client."""
    location: TenantLocation = field(default_factory=TenantLocation)
    clock: Callable[[], float] = time.monotonic
    """The clock of `location.valid_until` and `location.leased_until`."""
    observer: CallObserver = NO_OBSERVER

    def with_own_meter(self) -> Self:
        """Returns a caller with a new meter, which charges the same accounts."""
        return replace(self, meter=CapacityMeter(accounts=self.meter.accounts))

    async def call(self, operation: str, parameters: Mapping[str, Any], *, is_retry: bool = False) -> Answer:
        """Makes a call, and repeats it while the error is retryable. Raises DynamoDbError if the last attempt fails.

        A repeated transaction does not write twice, because its parameters have a ClientRequestToken. `is_retry` is
        True for requests that an earlier call left unprocessed."""
        return await self._call_until(operation, parameters, self.location.valid_until, is_retry=is_retry)

    async def _call_until(
        self, operation: str, parameters: Mapping[str, Any], valid_until: float, *, is_retry: bool = False
    ) -> Answer:
        """Makes a call with retries, but makes no attempt after `valid_until`.

        `valid_until` is the end of the location that the parameters were made from. `self.location` may have been
        extended since then, and may have other shards now."""
        call = ObservedCall(self.location.tenant, operation, parameters, is_retry)
        for attempt in range(self.retry_policy.attempts):
            try:
                answer = await self._attempt(operation, parameters, valid_until)
            except DynamoDbError as error:
                self.observer.on_error(call, error)
                if not error.rule.is_retryable or self.retry_policy.is_last(attempt):
                    self._log_error(operation, error)
                    raise
                # After a SERVICE_FAILURE it is unknown whether the call reached a partition.
                if error.rule is not SERVICE_FAILURE:
                    call = call._replace(is_retry=True)
                log.debug("dynamodb_retry", operation=operation, code=error.code, attempt=attempt + 1)
            else:
                self.observer.on_answer(call, answer)
                return answer
            await asyncio.sleep(self.retry_policy.backoff_seconds(attempt))
        raise AssertionError("a retry policy has at least one attempt")

    async def _attempt(self, operation: str, parameters: Mapping[str, Any], valid_until: float) -> Answer:
        """Makes a call. If the session may have caused an error, and there is a newer session, makes the call again."""
        credentials = await self.credentials()
        try:
            return await self._send(operation, parameters, credentials, valid_until)
        except DynamoDbError as error:
            if not error.rule.new_session_may_help:
                raise
            newer_credentials = await _replace_credentials(self.credentials, credentials)
            if newer_credentials is None:
                raise
            log.info("session_replaced", operation=operation, code=error.code)
        return await self._send(operation, parameters, newer_credentials, valid_until)

    async def _send(
        self, operation: str, parameters: Mapping[str, Any], credentials: Credentials, valid_until: float
    ) -> Answer:
        """Makes one HTTP call when the limits allow it, and counts its capacity."""
        metered_parameters = {**parameters, "ReturnConsumedCapacity": "TOTAL"}
        try:
            async with self.call_limit, _connection_limit(self.client):
                self._check_location(valid_until)
                answer = await self.client.call(operation, metered_parameters, credentials)
                self.meter.record(operation, answer)
        except DynamoDbError as error:
            self.meter.record_error(operation, error.consumed_capacity, is_throttled=error.rule is THROTTLING)
            raise
        return answer

    def _check_location(self, valid_until: float) -> None:
        """Raises Throttled if the tenant's items may be in another table or shard by now.

        This is checked right before the HTTP call, because the call may have waited for a limit."""
        now = self.clock()
        if now > min(valid_until, self.location.valid_until):
            raise Throttled(self.location.expired_message, retryAfterMs=RETRY_AFTER_MS)
        if now > self.location.leased_until:
            raise Throttled(LEASE_LOST, retryAfterMs=RETRY_AFTER_MS)

    def _log_error(self, operation: str, error: DynamoDbError) -> None:
        """Logs the details that clients do not see. Failed conditions are part of normal work and not logged."""
        if error.code == "AccessDeniedException":
            log.error("dynamodb_denied", operation=operation, text=str(error))
            self.on_denied()
        elif error.code not in {"TransactionCanceledException", "ConditionalCheckFailedException"}:
            log.error("dynamodb_failed", operation=operation, code=error.code, text=str(error))


def _connection_limit(client: DynamoDb) -> CallLimit:
    """Returns the limit on the client's connections, if the client has one.

    Every call runs this function. `isinstance` with a Protocol is slow, so the function uses `getattr`."""
    limit: CallLimit = getattr(client, "connection_limit", UNLIMITED)
    return limit


async def _replace_credentials(source: object, refused: Credentials) -> Credentials | None:
    """Returns newer credentials, or None if the source cannot renew them."""
    return await source.replace(refused) if isinstance(source, RenewableCredentials) else None
