"""`DynamoDbClient`: signed HTTP calls to DynamoDB, made in threads.

It uses botocore's signatures and connection pool, but reads and writes the JSON itself: boto3's client validates and
rebuilds every attribute by its service model, which takes most of the time of a call.
"""

import asyncio
import socket
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


class DynamoDb(Protocol):
    """The one method of a DynamoDB client that the store calls."""

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        """Returns the answer. Raises DynamoDbError with AWS's code."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The endpoint of DynamoDB, the number of connections, and timeouts in seconds."""

    region: str | None = None
    endpoint_url: str | None = None
    connections: int = 32
    connect_timeout: float = 1.0
    read_timeout: float = 3.0


class DynamoDbClient:
    """Makes calls in its own threads, one for each pooled connection. Every call is signed with its own credentials.

    A caller that enters `threads` first knows that its call is sent immediately and does not wait in a queue."""

    def __init__(self, options: ConnectionOptions) -> None:
        self._url, self._region = _endpoint(options)
        self.threads = ConcurrencyLimit(options.connections)
        self._threads = ThreadPoolExecutor(options.connections, thread_name_prefix="dynamodb")
        self._http = _pool(options, self._url)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._send, operation, parameters, credentials
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._http.close()

    def _send(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        request = AWSRequest("POST", self._url, _headers(operation), orjson.dumps(parameters))
        SigV4Auth(_frozen(credentials), "dynamodb", self._region).add_auth(request)
        try:
            response = self._http.send(request.prepare())
            body = _check_crc(response.content, response.headers)
        except BotoCoreError as failure:
            raise DynamoDbError("ConnectionLost", type(failure).__name__) from failure
        return _answer(response.status_code, body)


def _pool(options: ConnectionOptions, url: str) -> URLLib3Session:
    """Returns a connection pool. For https it uses the proxies and certificates that boto3 would use.

    Without TCP_NODELAY every call would wait for an ACK."""
    timeout: Any = (options.connect_timeout, options.read_timeout)
    socket_options: Any = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    return URLLib3Session(
        verify=_certificates() if url.startswith("https:") else True,
        proxies=get_environ_proxies(url) if url.startswith("https:") else {},
        timeout=timeout,
        max_pool_connections=options.connections,
        socket_options=socket_options,
    )


def _certificates() -> Any:
    return botocore.session.get_session().get_config_variable("ca_bundle") or True


def _headers(operation: str) -> dict[str, str]:
    return {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "User-Agent": "keyfence",
    }


def _frozen(credentials: Credentials) -> ReadOnlyCredentials:
    return ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)


def _check_crc(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Returns the body if it fits DynamoDB's checksum. A truncated answer can still be valid JSON."""
    expected = headers.get("x-amz-crc32")
    if expected is not None and zlib.crc32(body) != int(expected):
        raise DynamoDbError("ConnectionLost", "the answer does not match its checksum")
    return body


def _answer(status: int, body: bytes) -> Answer:
    try:
        answer: Answer = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        raise DynamoDbError("InternalServerError" if status >= 500 else "Unreadable", f"HTTP {status}") from None
    if status != 200:
        raise _error(status, answer)
    return answer


def _error(status: int, answer: Answer) -> DynamoDbError:
    code = str(answer.get("__type", "")).rpartition("#")[2]
    reasons = tuple(reason.get("Code") or "None" for reason in answer.get("CancellationReasons") or ())
    text = answer.get("message") or answer.get("Message") or ""
    name = code or ("InternalServerError" if status >= 500 else "Unknown")
    return DynamoDbError(name, text, reasons, answer.get("ConsumedCapacity"))


def _endpoint(options: ConnectionOptions) -> tuple[str, str]:
    """Returns the URL and the region that boto3 would use. It knows partitions, FIPS and AWS_ENDPOINT_URL variables."""
    if options.endpoint_url and options.region:
        return options.endpoint_url, options.region
    session = boto3.Session(aws_access_key_id="never-used", aws_secret_access_key="never-used")  # noqa: S106
    boto = session.client("dynamodb", region_name=options.region, endpoint_url=options.endpoint_url)
    return boto.meta.endpoint_url, boto.meta.region_name


def ambient_region() -> str | None:
    """Returns the region that boto3 finds in the environment and the configuration files."""
    return boto3.Session().region_name
