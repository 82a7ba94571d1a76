"""Measures the CPU time of a request for a list of twenty users: all of it, and each step.

Run: uv run python -m tests.benchmarks.graphql [--requests 500]
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from keyfence import log
from keyfence.admission.admission import Admission, TenantRequest
from keyfence.admission.rate_limits import TenantLimitsCache
from keyfence.app.domain_loading import load_domains
from keyfence.auth.principal import Role
from keyfence.auth.token_verifier import tenant_verifier
from keyfence.domains.users.repository import UserRepository
from keyfence.graphql.context import Context
from keyfence.graphql.executor import GraphQLExecutor, GraphQLRequest
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.store.dynamodb.client import Answer
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.tenant_cache import TenantCache, location_of
from keyfence.usage.ledger import UsageLedger
from tests.engines import shared_cache
from tests.stack import ApiClient, ServiceStack

QUERY = """{ users(first: 20) { edges { cursor node { id email name role createdAt updatedAt version __typename } }
  pageInfo { hasNextPage endCursor } } }"""
BODY = {"query": QUERY}
TABLE = "benchmark"


class Canned:
    """A client that repeats its last response, to measure everything but DynamoDB."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def call(self, *_: Any) -> Answer:
        return self.answer

    def close(self) -> None:
        """Nothing is open."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="how many requests each part is measured over")
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        _serve(json.loads(Path(given.serve).read_text()))
        return
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        try:
            asyncio.run(_measure(engine.url, Path(directory), given.requests))
        finally:
            engine.stop()


async def _measure(url: str, directory: Path, requests: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    stack = ServiceStack.start(url, TABLE, DevelopmentIssuer(key=key))
    session = stack.api_client(await stack.new_tenant("acme"))
    users = UserRepository(stack.table(session.tenant))
    for number in range(40):
        await users.create(email=f"{number}@x.example", name=f"User {number}", role=Role.MEMBER)
    rows = [("whole request, over a socket", _over_socket(url, key, session, directory, requests))]
    rows += [(name, await _cpu(work, requests)) for name, work in (await _parts(stack, session)).items()]
    _show(rows)


async def _parts(stack: ServiceStack, session: ApiClient) -> dict[str, Callable[[], Awaitable[object]]]:
    verifier = tenant_verifier(stack.settings)
    executor = GraphQLExecutor(load_domains().schema)
    request = GraphQLRequest(query=QUERY)
    tenant = await TenantCache(stack.tables.for_control_plane(writes=False)).get(session.tenant)
    admission = Admission(limits=TenantLimitsCache(), ledger=UsageLedger(), total_capacity=stack.tables.meter)
    caller = TenantRequest(await verifier.verify(session.token), tenant, admission.admit(tenant), location_of(tenant))
    table = stack.table(session.tenant, writes=False)
    canned = await _canned(stack, session)

    async def prepare() -> object:
        return executor.prepare(request)

    async def execute() -> object:
        table = canned.tables.for_tenant(
            caller.location, writes=False, meter=caller.admitted, call_limit=caller.admitted.call_limit
        )
        return await executor.execute(executor.prepare(request), Context(caller, table), request_id="")

    return {
        "  the application, without the socket": lambda: _post(stack.application, session.token),
        "    HTTP and routing (no DynamoDB)": lambda: _post(canned.application, session.token),
        "    token, verified before": lambda: verifier.verify(session.token),
        "    parse and validate, read before": prepare,
        "    execute, with an answer in hand": execute,
        "    DynamoDB call, decoded": lambda: UserRepository(table).newest(first=20, after=None),
    }


async def _canned(stack: ServiceStack, session: ApiClient) -> ServiceStack:
    from dataclasses import replace

    answers: list[Answer] = []

    class Tape(Canned):
        async def call(self, *call: Any) -> Answer:
            answers.append(await stack.tables.client.call(*call))
            return answers[-1]

    await UserRepository(
        replace(stack.tables, client=Tape({})).for_tenant(TenantLocation(tenant=session.tenant), writes=False)
    ).newest(first=20, after=None)
    tables = replace(stack.tables, client=Canned(answers[0]))
    return replace(stack, tables=tables, application=_canned_application(stack, answers[0], session))


def _canned_application(stack: ServiceStack, page: Answer, session: ApiClient) -> Any:
    """Keeps the real response for the tenant's own record, which the service reads every five seconds."""
    from dataclasses import replace

    class ByOperation(Canned):
        async def call(self, operation: str, *rest: Any) -> Answer:
            return page if operation == "Query" else await stack.tables.client.call(operation, *rest)

    return stack.serve(tables=replace(stack.tables, client=ByOperation(page)))


async def _post(application: Any, token: str, *, refused: bool = False) -> None:
    """Sends one request to the application."""
    sent: list[Any] = []
    body = json.dumps(BODY).encode()
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/graphql", "raw_path": b"/graphql", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "state": {},
        "headers": [(b"content-type", b"application/json"), (b"authorization", b"Bearer " + token.encode()),
                    (b"content-length", str(len(body)).encode())],
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    if not refused and (sent[0]["status"] != 200 or b'"errors"' in sent[1]["body"]):
        raise SystemExit(sent[1]["body"])


async def _cpu(work: Callable[[], Awaitable[object]], times: int) -> float:
    for _ in range(times // 10 + 1):
        await work()
    best = []
    for _ in range(5):
        start = time.process_time_ns()
        for _ in range(times // 5):
            await work()
        best.append((time.process_time_ns() - start) / (times // 5) / 1000)
    return min(best)


def _over_socket(url: str, key: ec.EllipticCurvePrivateKey, session: ApiClient, directory: Path, times: int) -> float:
    """Starts the server in a process of its own, so that the client's CPU time is not counted."""
    plan = directory / "plan.json"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    plan.write_text(json.dumps({"url": url, "key": pem, "port": port}))
    server = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.graphql", "--serve", str(plan)])
    try:
        _request_many(port, session.token, 50, patience=20.0)
        before = _cpu_of(server.pid)
        _request_many(port, session.token, times, patience=1.0)
        return (_cpu_of(server.pid) - before) / times * 1e6
    finally:
        server.terminate()
        server.wait()


def _serve(plan: dict[str, Any]) -> None:
    import uvicorn

    key = load_pem_private_key(plan["key"].encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    application = ServiceStack.start(plan["url"], TABLE, DevelopmentIssuer(key=key)).application
    log.configure(as_json=True)
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    uvicorn.run(application, port=plan["port"], loop="uvloop", http="httptools", log_config=None, access_log=False)


def _request_many(port: int, token: str, times: int, patience: float) -> None:
    body = json.dumps(BODY).encode()
    request = (
        f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body
    with _connected(port, patience) as connection:
        reader = connection.makefile("rb")
        for _ in range(times):
            connection.sendall(request)
            if b" 200 " not in (status := reader.readline()):
                raise SystemExit(status)
            length = 0
            while (line := reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            reader.read(length)


def _connected(port: int, patience: float) -> socket.socket:
    deadline = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _show(rows: list[tuple[str, float]]) -> None:
    print(f"\n{'a list of 20 users':<45}{'CPU µs per request':>20}")
    for name, cost in rows:
        print(f"{name:<45}{cost:>20,.0f}")


if __name__ == "__main__":
    main()
