"""Measures the CPU time that the gate adds to a call: compared with a plain forwarder, and for each step.

Run: uv run python -m tests.benchmarks.gate [--calls 2000]
"""

import argparse
import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from keyfence.app.domain_loading import load_domains
from keyfence.cli.ports import listen
from keyfence.local import gate_access
from keyfence.store.dynamodb.table_definition import table_definition
from keyfence_iam.authorization import ArnScope, TableSchema, authorizations_for
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.app import GateApp
from keyfence_iam.gate.denials import first_denied
from keyfence_iam.gate.engine.engine_client import EngineClient, forward
from keyfence_iam.gate.gate import HOST
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.server import GateServer
from keyfence_iam.gate.settings import GateSettings
from keyfence_iam.gate.sigv4 import SignatureVerifier
from keyfence_iam.roles import ROLES
from keyfence_iam.strict_json import parse_object
from keyfence_iam.tenant import parse_tenant_id

KEY = bytes(32)
DEPLOYMENT = Deployment()
KEYS = {DEPLOYMENT.table: TableSchema.with_keys("PK", {f"GSI{n}": f"GSI{n}PK" for n in (1, 2, 3)})}
ROUNDS = 5
ANSWER = json.dumps({"Item": {"PK": {"S": "TENANT#acme#USER#usr_01"}, "name": {"S": "x" * 1000}}}).encode()
DESCRIBED = json.dumps({"Table": table_definition(DEPLOYMENT.table, load_domains().entities.projections)}).encode()
PARTS = ("signature", "json", "expansion", "decision")


class Forwarder(GateApp):
    """Forwards every request to the engine without any check."""

    async def _dispatch(self, request: HttpRequest) -> HttpResponse:
        return await forward(request, self._engine)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is repeated."""

    operation: str
    name: str
    parameters: dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="how many times each call is made")
    parser.add_argument("--serve", nargs=3, metavar=("KIND", "URL", "PORT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        _serve(given.serve[0], given.serve[1], int(given.serve[2]))
        return
    with _served("engine", "") as engine:
        _measure(engine.url, given.calls)


def _serve(kind: str, engine_url: str, port: int) -> None:
    if kind == "engine":
        asyncio.run(_engine(port))
    rules = GateSettings(sessions=SessionIssuer(Account.from_definitions(ROLES, DEPLOYMENT), KEY))
    application = (GateApp if kind == "gate" else Forwarder)(rules, EngineClient(engine_url))
    GateServer(application).run(sockets=[listen(HOST, port)])


async def _engine(port: int) -> None:
    """Returns the same response immediately, since the engine is not what is measured."""
    server = await asyncio.get_running_loop().create_server(Canned, HOST, port)
    await server.serve_forever()


class Canned(asyncio.Protocol):
    """Returns an engine with the table and responses of 1 KB."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._received = cast("asyncio.Transport", transport), b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if end and length and len(body) >= int(length[1]):
            self._received = b""
            answer = DESCRIBED if b".DescribeTable" in head else ANSWER
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer))


def _measure(engine_url: str, calls: int) -> None:
    sessions = SessionIssuer(Account.from_definitions(ROLES, DEPLOYMENT), KEY)
    credentials = gate_access.tenant_session(sessions, parse_tenant_id("acme"), writes=True, seconds=3600).credentials
    with _served("forward", engine_url) as forwarder, _served("gate", engine_url) as gate:
        _line("per call, in µs", "direct", "forwarded", "gate", "ratio", "CPU fwd", "CPU gate", "added", *PARTS)
        for call in _calls():
            _row(call, engine_url, forwarder, gate, _Signer(credentials, sessions), calls)


def _row(call: Call, engine_url: str, forwarder: "Served", gate: "Served", signer: "_Signer", calls: int) -> None:
    """Measures the three in turn, so that noise of the machine affects all alike. The fastest round counts."""
    costs: list[tuple[float, ...]] = []
    for _ in range(ROUNDS):
        direct = _timed(engine_url, signer.raw(engine_url, call), calls // ROUNDS)
        forwarded = forwarder.costs(signer.raw(forwarder.url, call), calls // ROUNDS)
        costs.append((direct, *forwarded, *gate.costs(signer.raw(gate.url, call), calls // ROUNDS)))
    direct, plain, plain_cpu, whole, whole_cpu = map(min, zip(*costs, strict=True))
    parts = [_cpu(work, calls) for work in _parts(signer, call).values()]
    ratio, added = f"{whole / direct:.1f}x", whole_cpu - plain_cpu
    _line(call.name, direct, plain, whole, ratio, plain_cpu, whole_cpu, added, *parts)


class Served:
    """A gate or a forwarder in a process of its own, so that its CPU time can be read."""

    def __init__(self, kind: str, engine_url: str) -> None:
        with socket.create_server((HOST, 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://{HOST}:{port}"
        command = [sys.executable, "-m", "tests.benchmarks.gate", "--serve", kind, engine_url, str(port)]
        self.process = subprocess.Popen(command)

    def costs(self, request: bytes, times: int) -> tuple[float, float]:
        """Returns the elapsed time and the CPU time of a call, in microseconds."""
        before = self._cpu()
        elapsed = _timed(self.url, request, times)
        return elapsed, (self._cpu() - before) / times / 1000

    def _cpu(self) -> int:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)


@contextmanager
def _served(kind: str, engine_url: str) -> Iterator[Served]:
    served = Served(kind, engine_url)
    try:
        with _connected(served.url, patience=20):
            yield served
    finally:
        served.process.terminate()
        served.process.wait()


class _Signer:
    """Returns signed requests."""

    def __init__(self, credentials: Credentials, sessions: SessionIssuer) -> None:
        self._credentials = ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)
        self.sessions = sessions

    def raw(self, url: str, call: Call) -> bytes:
        headers, body = self.signed(url, call)
        lines = [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode() + body

    def signed(self, url: str, call: Call) -> tuple[dict[str, str], bytes]:
        body = json.dumps(call.parameters).encode()
        target = f"DynamoDB_20120810.{call.operation}"
        request = AWSRequest("POST", url, {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target}, body)
        SigV4Auth(self._credentials, "dynamodb", DEPLOYMENT.region).add_auth(request)
        host = {"host": url.removeprefix("http://"), "content-length": str(len(body))}
        return {**host, **dict(request.headers.items())}, body


def _parts(signer: _Signer, call: Call) -> dict[str, Callable[[], object]]:
    headers, body = signer.signed("http://127.0.0.1:8001", call)
    request = HttpRequest(
        method="POST",
        path=b"/",
        query=b"",
        headers=[(name.lower().encode(), value.encode()) for name, value in headers.items()],
        body=body,
        source_ip=HOST,
    )
    verifier, place = SignatureVerifier(signer.sessions, region=DEPLOYMENT.region), ArnScope.of(DEPLOYMENT)
    session, read = verifier.verify(request, "dynamodb"), parse_object(body)
    asked = authorizations_for(call.operation, read, place, KEYS)

    def judge() -> None:
        known = session.context(
            signer.sessions.clock(), source_ip=HOST, secure_transport=False, region=DEPLOYMENT.region
        )
        assert first_denied(asked, known, session, signer.sessions.account) is None

    return dict(
        zip(
            PARTS,
            (
                lambda: verifier.verify(request, "dynamodb"),
                lambda: parse_object(body),
                lambda: authorizations_for(call.operation, read, place, KEYS),
                judge,
            ),
            strict=True,
        )
    )


def _calls() -> list[Call]:
    key = {"PK": {"S": "TENANT#acme#USER#usr_01"}, "SK": {"S": "PROFILE"}}
    item = {**key, "name": {"S": "x" * 1000}, "GSI1PK": {"S": "TENANT#acme#EMAIL#a"}, "GSI1SK": {"S": "USER"}}
    items = [{**item, "SK": {"S": f"ITEM#{number:03}"}} for number in range(25)]
    puts = [{"PutRequest": {"Item": one}} for one in items]
    own = [{"PK": {"S": f"TENANT#acme#USER#usr_{number:03}"}} for number in range(100)]
    apart = [{"Put": {"TableName": DEPLOYMENT.table, "Item": {**item, **one}}} for one in own]
    together = [{"Put": {"TableName": DEPLOYMENT.table, "Item": one}} for one in items]
    query = {
        "TableName": DEPLOYMENT.table,
        "KeyConditionExpression": "#p = :p AND begins_with(#s, :s)",
        "ExpressionAttributeNames": {"#p": "PK", "#s": "SK"},
        "ExpressionAttributeValues": {":p": key["PK"], ":s": {"S": "ITEM#"}},
        "Limit": 20,
    }
    return [
        Call("PutItem", "PutItem of 1 KB", {"TableName": DEPLOYMENT.table, "Item": item}),
        Call("GetItem", "GetItem of 1 KB", {"TableName": DEPLOYMENT.table, "Key": key}),
        Call("BatchWriteItem", "BatchWriteItem of 25 KB", {"RequestItems": {DEPLOYMENT.table: puts}}),
        *(
            Call("TransactWriteItems", f"TransactWriteItems of {number}", {"TransactItems": apart[:number]})
            for number in (10, 25, 100)
        ),
        Call("TransactWriteItems", "  of 25 in one partition", {"TransactItems": together}),
        Call("Query", "Query of 20 KB", query),
    ]


def _timed(url: str, request: bytes, times: int) -> float:
    with _connected(url, patience=1) as connection:
        reader = connection.makefile("rb")
        _exchange(connection, reader, request)
        start = time.perf_counter_ns()
        for _ in range(times):
            _exchange(connection, reader, request)
        return (time.perf_counter_ns() - start) / times / 1000


def _exchange(connection: socket.socket, reader: BufferedReader, request: bytes) -> None:
    connection.sendall(request)
    if b" 200 " not in (status := reader.readline()):
        raise SystemExit(status + reader.read1(4096))
    length = 0
    while (line := reader.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    reader.read(length)


def _connected(url: str, patience: float) -> socket.socket:
    deadline = time.monotonic() + patience
    while True:
        try:
            connection = socket.create_connection((HOST, int(url.rpartition(":")[2])))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def _cpu(work: Callable[[], object], times: int) -> float:
    best = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        for _ in range(times // ROUNDS):
            work()
        best.append((time.process_time_ns() - start) / (times // ROUNDS) / 1000)
    return min(best)


def _line(name: str, *columns: float | str) -> None:
    print(f"{name:<26}", *(f"{one:>9}" if isinstance(one, str) else f"{one:>9,.0f}" for one in columns))


if __name__ == "__main__":
    main()
