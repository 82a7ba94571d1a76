"""Measures the CPU time of a Query of twenty items: by the service's client, and by botocore's signer and connections.

Run: uv run python -m tests.benchmarks.dynamodb_client [--calls 2000] [--concurrency 1]
"""

import argparse
import asyncio
import re
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from typing import Any, cast

import orjson
import uvloop
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from botocore.httpsession import URLLib3Session

from keyfence.store.dynamodb.client import Answer, ConnectionOptions, DynamoDb, DynamoDbClient
from keyfence_iam.credentials import Credentials
from tests.benchmarks.http_connection import HOST, connect, free_port

ROUNDS = 7
REGION = "us-east-1"
CREDENTIALS = Credentials("ASIABENCHMARK0000000", "secret" * 6, "token" * 160)
QUERY = {
    "TableName": "keyfence",
    "IndexName": "GSI1",
    "KeyConditionExpression": "#p = :p AND begins_with(#s, :s)",
    "ExpressionAttributeNames": {"#p": "GSI1PK", "#s": "GSI1SK"},
    "ExpressionAttributeValues": {":p": {"S": "TENANT#acme#USERS#00"}, ":s": {"S": "USER#"}},
    "Limit": 20,
    "ReturnConsumedCapacity": "TOTAL",
}
ITEM = {
    name: {"S": f"the value of {name}"} for name in ("PK", "SK", "id", "email", "name", "role", "createdAt", "status")
}
ANSWER = orjson.dumps({"Items": [ITEM] * 20, "Count": 20, "ConsumedCapacity": {"CapacityUnits": 1.0}})


class BotocoreClient:
    """Sends calls with the signer and the connection pool of botocore, in threads."""

    def __init__(self, url: str, threads: int) -> None:
        self._url = url
        self._threads = ThreadPoolExecutor(threads)
        # Without TCP_NODELAY, which botocore does not set, a call would wait for an ACK.
        no_delay: Any = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        self._http = URLLib3Session(max_pool_connections=threads, socket_options=no_delay)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._send, operation, parameters, credentials
        )

    def close(self) -> None:
        self._threads.shutdown()
        self._http.close()

    def _send(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        request = AWSRequest("POST", self._url, headers, orjson.dumps(parameters))
        keys = ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)
        SigV4Auth(keys, "dynamodb", REGION).add_auth(request)
        response = self._http.send(request.prepare())
        assert zlib.crc32(response.content) == int(response.headers["x-amz-crc32"])
        answer: Answer = orjson.loads(response.content)
        return answer


class RepeatingServer(asyncio.Protocol):
    """Answers every request with the same twenty items."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._received = cast("asyncio.Transport", transport), b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if end and length and len(body) >= int(length[1]):
            self._received = b""
            head = b"HTTP/1.1 200 OK\r\nServer: Server\r\nContent-Type: application/x-amz-json-1.0\r\n"
            lines = b"x-amzn-RequestId: 0\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n"
            self._transport.write(head + lines % (zlib.crc32(ANSWER), len(ANSWER)) + ANSWER)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="how many calls each client makes in one round")
    parser.add_argument("--concurrency", type=int, default=1, help="how many calls a client makes at the same time")
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        uvloop.run(_serve(arguments.serve))
        return
    with running_server() as url:
        options = ConnectionOptions(region=REGION, endpoint_url=url, connections=32)
        clients: dict[str, DynamoDb] = {"service": DynamoDbClient(options), "botocore": BotocoreClient(url, 32)}
        uvloop.run(measure(clients, arguments.calls, arguments.concurrency))


@contextmanager
def running_server() -> Iterator[str]:
    """Runs the server in a process of its own, and yields its URL."""
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmarks.dynamodb_client", "--serve", str(port)]
    process = subprocess.Popen(command)
    try:
        with connect(port, timeout_seconds=20):
            yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(RepeatingServer, HOST, port)
    await server.serve_forever()


async def measure(clients: Mapping[str, DynamoDb], calls: int, concurrency: int) -> None:
    """Prints the CPU time of a call for each client. The clients take turns, so that noise hits all of them."""
    rounds: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, client in clients.items():
            rounds[name].append(await _cpu_microseconds(client, calls, concurrency))
    for client in clients.values():
        client.close()
    print(f"{'a Query of 20 items':<24}{'fastest round':>16}{'median':>10}   CPU µs per call, of {ROUNDS} rounds")
    for name, costs in rounds.items():
        print(f"{name:<24}{min(costs):>16,.0f}{median(costs):>10,.0f}")


async def _cpu_microseconds(client: DynamoDb, calls: int, concurrency: int) -> float:
    async def call_repeatedly() -> None:
        for _ in range(calls // concurrency):
            assert len((await client.call("Query", QUERY, CREDENTIALS))["Items"]) == 20

    started_at = time.process_time_ns()
    await asyncio.gather(*(call_repeatedly() for _ in range(concurrency)))
    return (time.process_time_ns() - started_at) / (calls // concurrency * concurrency) / 1000


if __name__ == "__main__":
    main()
