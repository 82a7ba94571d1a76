"""`DynamoDbClient`: sends signed HTTP calls to DynamoDB, in the event loop.

boto3's own client validates and rebuilds every attribute, and blocks its thread. So only the address, the certificates
and the proxy come from boto3.
"""

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit
from keyfence.store.dynamodb.connection_pool import ConnectionPool
from keyfence.store.dynamodb.endpoint import resolve_endpoint
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.dynamodb.http_connection import AnswerTooLarge, ConnectionFailed, HttpAnswer
from keyfence.store.dynamodb.request_signer import RequestSigner
from keyfence_iam.credentials import Credentials

Answer = dict[str, Any]
"""The JSON of a response."""


class DynamoDb(Protocol):
    """The methods of a DynamoDB client that the store uses."""

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        """Returns the answer. Raises DynamoDbError with the AWS error code."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The endpoint of DynamoDB, the number of connections, and the timeouts.

    boto3's configuration is used for a region or an endpoint that is None."""

    region: str | None = None
    endpoint_url: str | None = None
    connections: int = 32
    connect_timeout_seconds: float = 1.0
    read_timeout_seconds: float = 3.0
    scan_read_timeout_seconds: float = 60.0
    """The read timeout of a Scan, which only jobs make. A page of a Scan takes longer than a request may wait.

    The settle time does not include this timeout, because a Scan changes nothing."""


READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})
"""Operations that change nothing. Only these are sent again if the server closes an idle connection.

`DynamoDbCaller` repeats writes, after it has checked that the tenant's items are still in the same table."""


class DynamoDbClient:
    """Makes calls in the event loop. Each call brings its own credentials. All calls share the connections.

    A caller that has entered `connection_limit` gets a connection immediately. Other callers may wait for a connection.
    Several event loops can use one client. Each event loop has its own connections."""

    def __init__(self, options: ConnectionOptions) -> None:
        """Raises ValueError or an error of botocore if the endpoint cannot be found."""
        self._options = options
        self._endpoint = resolve_endpoint(options.region, options.endpoint_url)
        self._signer = RequestSigner(self._endpoint)
        self.connection_limit = ConcurrencyLimit(options.connections)
        self._pools: dict[asyncio.AbstractEventLoop, ConnectionPool] = {}
        self._is_closed = False

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        pool = self._pools.get(asyncio.get_running_loop()) or self._new_pool()
        options = self._options
        timeout_seconds = options.scan_read_timeout_seconds if operation == "Scan" else options.read_timeout_seconds
        request = self._signer.sign(operation, orjson.dumps(parameters), credentials)
        try:
            answer = await pool.send(request, timeout_seconds=timeout_seconds, may_repeat=operation in READS)
        except AnswerTooLarge as error:
            raise DynamoDbError("Unreadable", str(error)) from error
        except ConnectionFailed as error:
            raise DynamoDbError("ConnectionLost", str(error)) from error
        return _parse_answer(answer.status, _checked_body(answer))

    def close(self) -> None:
        """Closes the connections of all event loops, in the thread of each event loop. Later calls fail."""
        self._is_closed = True
        pools, self._pools = self._pools, {}
        for loop, pool in pools.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(pool.close)

    def _new_pool(self) -> ConnectionPool:
        """Returns new connections for the running event loop, and forgets the event loops that are closed.

        Raises RuntimeError if the client is closed."""
        if self._is_closed:
            raise RuntimeError("the client is closed")
        pool = ConnectionPool(
            self._endpoint,
            max_connections=self._options.connections,
            connect_timeout_seconds=self._options.connect_timeout_seconds,
        )
        open_pools = {loop: pool for loop, pool in self._pools.items() if not loop.is_closed()}
        self._pools = {**open_pools, asyncio.get_running_loop(): pool}
        return pool


def _checked_body(answer: HttpAnswer) -> bytes:
    """Returns the body. Raises DynamoDbError if DynamoDB's checksum does not match: a truncated body can still be valid
    JSON."""
    expected = answer.checksum
    if expected is not None and expected.strip() != b"%d" % zlib.crc32(answer.body):
        raise DynamoDbError("ConnectionLost", "the answer does not match its checksum")
    return answer.body


def _parse_answer(status: int, body: bytes) -> Answer:
    try:
        answer: Answer = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        raise DynamoDbError("InternalServerError" if status >= 500 else "Unreadable", f"HTTP {status}") from None
    if status != 200:
        raise _parse_error(status, answer)
    return answer


def _parse_error(status: int, answer: Answer) -> DynamoDbError:
    """Returns the error of an answer. Its `__type` is a namespace, '#' and the error code."""
    code = str(answer.get("__type", "")).rpartition("#")[2]
    reasons = tuple(reason.get("Code") or "None" for reason in answer.get("CancellationReasons") or ())
    message = answer.get("message") or answer.get("Message") or ""
    if not code:
        code = "InternalServerError" if status >= 500 else "Unknown"
    return DynamoDbError(code, message, reasons, answer.get("ConsumedCapacity"))
