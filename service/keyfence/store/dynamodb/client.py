"""`DynamoDbClient`: sends signed HTTP calls to DynamoDB, in threads.

The client uses the signatures and the connection pool of botocore, but reads and writes the JSON itself. boto3's own
client validates and rebuilds every attribute, which takes most of the time of a call.
"""

import asyncio
import socket
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import boto3
import botocore.session
import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit
from keyfence.store.dynamodb.error_codes import DynamoDbError
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


class DynamoDbClient:
    """Makes calls in its own threads, one thread for each pooled connection. Each call brings its own credentials.

    A call inside `thread_limit` is sent immediately. A call without it may wait in the queue of the threads."""

    def __init__(self, options: ConnectionOptions) -> None:
        self._url, self._region = _url_and_region(options)
        self.thread_limit = ConcurrencyLimit(options.connections)
        self._executor = ThreadPoolExecutor(options.connections, thread_name_prefix="dynamodb")
        self._http = _connection_pool(options, self._url)
        scan_options = replace(options, read_timeout_seconds=options.scan_read_timeout_seconds)
        self._scan_http = _connection_pool(scan_options, self._url)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, self._send, operation, parameters, credentials
        )

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._http.close()
        self._scan_http.close()

    def _send(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        request = AWSRequest("POST", self._url, _headers(operation), orjson.dumps(parameters))
        SigV4Auth(_botocore_credentials(credentials), "dynamodb", self._region).add_auth(request)
        try:
            http = self._scan_http if operation == "Scan" else self._http
            response = http.send(request.prepare())
            body = _checked_body(response.content, response.headers)
        except BotoCoreError as error:
            raise DynamoDbError("ConnectionLost", type(error).__name__) from error
        return _parse_answer(response.status_code, body)


def _connection_pool(options: ConnectionOptions, url: str) -> URLLib3Session:
    """Returns a connection pool. For https it uses the proxies and certificates that boto3 would use.

    TCP_NODELAY is set because otherwise every call would wait for an ACK."""
    is_https = url.startswith("https:")
    timeout: Any = (options.connect_timeout_seconds, options.read_timeout_seconds)
    socket_options: Any = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    return URLLib3Session(
        verify=_ca_bundle() if is_https else True,
        proxies=get_environ_proxies(url) if is_https else {},
        timeout=timeout,
        max_pool_connections=options.connections,
        socket_options=socket_options,
    )


def _ca_bundle() -> Any:
    """Returns the file of CA certificates that boto3 is configured with, or True for the default certificates."""
    return botocore.session.get_session().get_config_variable("ca_bundle") or True


def _headers(operation: str) -> dict[str, str]:
    return {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "User-Agent": "keyfence",
    }


def _botocore_credentials(credentials: Credentials) -> ReadOnlyCredentials:
    return ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)


def _checked_body(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Returns the body. Raises DynamoDbError if DynamoDB's checksum does not match: a truncated body can still be valid
    JSON."""
    expected = headers.get("x-amz-crc32")
    if expected is not None and zlib.crc32(body) != int(expected):
        raise DynamoDbError("ConnectionLost", "the answer does not match its checksum")
    return body


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


def _url_and_region(options: ConnectionOptions) -> tuple[str, str]:
    """Returns the URL and the region that boto3 would use: boto3 knows AWS partitions, FIPS endpoints and the
    AWS_ENDPOINT_URL variables."""
    if options.endpoint_url and options.region:
        return options.endpoint_url, options.region
    session = boto3.Session(aws_access_key_id="never-used", aws_secret_access_key="never-used")  # noqa: S106
    client = session.client("dynamodb", region_name=options.region, endpoint_url=options.endpoint_url)
    return client.meta.endpoint_url, client.meta.region_name


def find_default_region() -> str | None:
    """Returns the region that boto3 finds in the environment or the configuration files, or None."""
    return boto3.Session().region_name
