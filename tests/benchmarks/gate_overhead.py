"""Measures the CPU time that the gate adds to a call, compared with a forwarder, and the CPU time of each step.

Run: uv run python -m tests.benchmarks.gate_overhead [--calls 2000]
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.server import GateServer
from keyfence_iam.gate.settings import GateSettings
from keyfence_iam.gate.sigv4 import SignatureVerifier
from keyfence_iam.roles import ROLES
from keyfence_iam.strict_json import parse_object
from keyfence_iam.tenant import parse_tenant_id
from tests.benchmarks.cpu_time import ROUNDS, cpu_microseconds
from tests.benchmarks.http_connection import HOST, connect, exchange, free_port

GATE_KEY = bytes(32)
DEPLOYMENT = Deployment()
SCHEMAS = {DEPLOYMENT.table: TableSchema.with_keys("PK", {f"GSI{n}": f"GSI{n}PK" for n in (1, 2, 3)})}
ITEM_RESPONSE = json.dumps({"Item": {"PK": {"S": "TENANT#acme#USER#usr_01"}, "name": {"S": "x" * 1000}}}).encode()
TABLE_RESPONSE = json.dumps({"Table": table_definition(DEPLOYMENT.table, load_domains().entities.projections)}).encode()
STEPS = ("signature", "json", "requests", "decision")
"""Verify the signature, parse the JSON, find the authorization requests, and decide on them."""


class Forwarder(GateApp):
    """Forwards every request to the engine without any check."""

    async def _dispatch(self, request: HttpRequest) -> HttpResponse:
        return await forward(request, self._engine)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is measured. `name` is its name in the output."""

    operation: str
    name: str
    parameters: dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="how often each call is repeated")
    parser.add_argument("--serve", nargs=3, metavar=("KIND", "URL", "PORT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(arguments.serve[0], arguments.serve[1], int(arguments.serve[2]))
        return
    with _running_server("engine", "") as engine:
        _measure(engine.url, arguments.calls)


def _serve(kind: str, engine_url: str, port: int) -> None:
    if kind == "engine":
        asyncio.run(_run_engine(port))
    settings = GateSettings(session_issuer=SessionIssuer(Account.from_definitions(ROLES, DEPLOYMENT), GATE_KEY))
    application = (GateApp if kind == "gate" else Forwarder)(settings, EngineClient(engine_url))
    GateServer(application).run(sockets=[listen(HOST, port)])


async def _run_engine(port: int) -> None:
    """Runs an engine that responds immediately, since the engine is not measured."""
    server = await asyncio.get_running_loop().create_server(RepeatingEngine, HOST, port)
    await server.serve_forever()


class RepeatingEngine(asyncio.Protocol):
    """An engine that responds to DescribeTable with the table, and to any other call with an item of 1 KB."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._received = cast("asyncio.Transport", transport), b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if end and length and len(body) >= int(length[1]):
            self._received = b""
            response = TABLE_RESPONSE if b".DescribeTable" in head else ITEM_RESPONSE
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(response), response))


def _measure(engine_url: str, calls: int) -> None:
    sessions = SessionIssuer(Account.from_definitions(ROLES, DEPLOYMENT), GATE_KEY)
    credentials = gate_access.tenant_session(
        sessions, parse_tenant_id("acme"), may_write=True, seconds=3600
    ).credentials
    with _running_server("forward", engine_url) as forwarder, _running_server("gate", engine_url) as gate:
        _print_line("µs per call", "direct", "forwarded", "gate", "ratio", "CPU fwd", "CPU gate", "added", *STEPS)
        for call in _calls():
            _print_measurements(call, engine_url, forwarder, gate, _Signer(credentials, sessions), calls)


def _print_measurements(
    call: Call, engine_url: str, forwarder: "ServerProcess", gate: "ServerProcess", signer: "_Signer", calls: int
) -> None:
    """Prints the times of a call. Engine, forwarder and gate are measured in turn, and the fastest round counts."""
    rounds: list[tuple[float, ...]] = []
    for _ in range(ROUNDS):
        direct = _elapsed_microseconds(engine_url, signer.request_bytes(engine_url, call), calls // ROUNDS)
        forwarded = forwarder.measure(signer.request_bytes(forwarder.url, call), calls // ROUNDS)
        rounds.append((direct, *forwarded, *gate.measure(signer.request_bytes(gate.url, call), calls // ROUNDS)))
    direct, forwarded_time, forwarded_cpu, gate_time, gate_cpu = map(min, zip(*rounds, strict=True))
    step_times = [cpu_microseconds(step, calls) for step in _steps(signer, call)]
    ratio, added_cpu = f"{gate_time / direct:.1f}x", gate_cpu - forwarded_cpu
    _print_line(call.name, direct, forwarded_time, gate_time, ratio, forwarded_cpu, gate_cpu, added_cpu, *step_times)


class ServerProcess:
    """A gate or a forwarder in a process of its own, so that its CPU time can be read."""

    def __init__(self, kind: str, engine_url: str) -> None:
        port = free_port()
        self.url = f"http://{HOST}:{port}"
        command = [sys.executable, "-m", "tests.benchmarks.gate_overhead", "--serve", kind, engine_url, str(port)]
        self.process = subprocess.Popen(command)

    def measure(self, request: bytes, times: int) -> tuple[float, float]:
        """Returns the elapsed time and the CPU time of a call, in microseconds."""
        before = self._cpu_nanoseconds()
        elapsed = _elapsed_microseconds(self.url, request, times)
        return elapsed, (self._cpu_nanoseconds() - before) / times / 1000

    def _cpu_nanoseconds(self) -> int:
        """Returns the CPU time of all threads of the process."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)


@contextmanager
def _running_server(kind: str, engine_url: str) -> Iterator[ServerProcess]:
    server = ServerProcess(kind, engine_url)
    try:
        with connect(_port(server.url), timeout_seconds=20):
            yield server
    finally:
        server.process.terminate()
        server.process.wait()


class _Signer:
    """Signs requests with the credentials of a session."""

    def __init__(self, credentials: Credentials, sessions: SessionIssuer) -> None:
        self._credentials = ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)
        self.sessions = sessions

    def request_bytes(self, url: str, call: Call) -> bytes:
        headers, body = self.sign(url, call)
        lines = [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode() + body

    def sign(self, url: str, call: Call) -> tuple[dict[str, str], bytes]:
        body = json.dumps(call.parameters).encode()
        target = f"DynamoDB_20120810.{call.operation}"
        request = AWSRequest("POST", url, {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target}, body)
        SigV4Auth(self._credentials, "dynamodb", DEPLOYMENT.region).add_auth(request)
        host = {"host": url.removeprefix("http://"), "content-length": str(len(body))}
        return {**host, **dict(request.headers.items())}, body


def _steps(signer: _Signer, call: Call) -> list[Callable[[], object]]:
    """Returns a function for each of STEPS, which does this step of the gate for the call."""
    headers, body = signer.sign("http://127.0.0.1:8001", call)
    request = HttpRequest(
        method="POST",
        path=b"/",
        query=b"",
        headers=[(name.lower().encode(), value.encode()) for name, value in headers.items()],
        body=body,
        source_ip=HOST,
    )
    verifier, scope = SignatureVerifier(signer.sessions, region=DEPLOYMENT.region), ArnScope.of(DEPLOYMENT)
    session, parameters = verifier.verify(request, "dynamodb"), parse_object(body)
    authorizations = authorizations_for(call.operation, parameters, scope, SCHEMAS)

    def decide() -> None:
        context = session.context(signer.sessions.clock(), source_ip=HOST, uses_tls=False, region=DEPLOYMENT.region)
        assert first_denied(authorizations, context, session, signer.sessions.account) is None

    return [
        lambda: verifier.verify(request, "dynamodb"),
        lambda: parse_object(body),
        lambda: authorizations_for(call.operation, parameters, scope, SCHEMAS),
        decide,
    ]


def _calls() -> list[Call]:
    key = {"PK": {"S": "TENANT#acme#USER#usr_01"}, "SK": {"S": "PROFILE"}}
    item = {**key, "name": {"S": "x" * 1000}, "GSI1PK": {"S": "TENANT#acme#EMAIL#a"}, "GSI1SK": {"S": "USER"}}
    items = [{**item, "SK": {"S": f"ITEM#{number:03}"}} for number in range(25)]
    puts = [{"PutRequest": {"Item": one}} for one in items]
    keys = [{"PK": {"S": f"TENANT#acme#USER#usr_{number:03}"}} for number in range(100)]
    in_own_partitions = [{"Put": {"TableName": DEPLOYMENT.table, "Item": {**item, **one}}} for one in keys]
    in_one_partition = [{"Put": {"TableName": DEPLOYMENT.table, "Item": one}} for one in items]
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
            Call("TransactWriteItems", f"TransactWriteItems of {number}", {"TransactItems": in_own_partitions[:number]})
            for number in (10, 25, 100)
        ),
        Call("TransactWriteItems", "  of 25 in one partition", {"TransactItems": in_one_partition}),
        Call("Query", "Query of 20 KB", query),
    ]


def _elapsed_microseconds(url: str, request: bytes, times: int) -> float:
    with connect(_port(url), timeout_seconds=1) as connection:
        reader = connection.makefile("rb")
        exchange(connection, reader, request)
        start = time.perf_counter_ns()
        for _ in range(times):
            exchange(connection, reader, request)
        return (time.perf_counter_ns() - start) / times / 1000


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


def _print_line(name: str, *columns: float | str) -> None:
    print(f"{name:<26}", *(f"{one:>9}" if isinstance(one, str) else f"{one:>9,.0f}" for one in columns))


if __name__ == "__main__":
    main()
