"""Measures the CPU time of a request for a list of twenty users: the whole request, and each step of it.

Run: uv run python -m tests.benchmarks.graphql_request [--requests 500] [--revocation-seconds 1]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
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
from keyfence.settings import Settings
from keyfence.store.dynamodb.client import Answer
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.tenant_cache import TenantCache, location_of
from keyfence.usage.ledger import UsageLedger
from tests.benchmarks.cpu_time import async_cpu_microseconds
from tests.benchmarks.http_connection import connect, exchange, free_port, graphql_request
from tests.engines import shared_cache
from tests.stack import ApiClient, ServiceStack

QUERY = """{ users(first: 20) { edges { cursor node { id email name role createdAt updatedAt version __typename } }
  pageInfo { hasNextPage endCursor } } }"""
BODY = {"query": QUERY}
TABLE = "benchmark"


class RepeatingClient:
    """A client that always returns the same response, to measure everything except DynamoDB."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def call(self, *_: Any) -> Answer:
        return self.answer

    def close(self) -> None:
        """Does nothing, since no connection is open."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="the number of requests for each measurement")
    default_seconds = Settings.model_fields["revocation_seconds"].default
    parser.add_argument("--revocation-seconds", type=float, default=default_seconds, help="0: check every request")
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(json.loads(Path(arguments.serve).read_text()))
        return
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        try:
            asyncio.run(_measure(engine.url, Path(directory), arguments.requests, arguments.revocation_seconds))
        finally:
            engine.stop()


async def _measure(url: str, directory: Path, requests: int, revocation_seconds: float) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    stack = _start_stack(url, key, revocation_seconds)
    session = stack.api_client(await stack.new_tenant("acme"))
    users = UserRepository(stack.table(session.tenant))
    for number in range(40):
        await users.create(email=f"{number}@x.example", name=f"User {number}", role=Role.MEMBER)
    rows = [("whole request, over a socket", _over_socket(stack, key, session, directory, requests))]
    rows += [(name, await _cpu_microseconds(work, requests)) for name, work in (await _steps(stack, session)).items()]
    _print_rows(rows)


async def _steps(stack: ServiceStack, session: ApiClient) -> dict[str, Callable[[], Awaitable[object]]]:
    verifier = tenant_verifier(stack.settings)
    executor = GraphQLExecutor(load_domains().schema)
    request = GraphQLRequest(query=QUERY)
    tenant = await TenantCache(stack.tables.for_control_plane(may_write=False)).get(session.tenant)
    admission = Admission(limits=TenantLimitsCache(), ledger=UsageLedger(), total_capacity=stack.tables.meter)
    caller = TenantRequest(await verifier.verify(session.token), tenant, admission.admit(tenant), location_of(tenant))
    table = stack.table(session.tenant, may_write=False)
    without_dynamodb = await _stack_without_dynamodb(stack, session)

    async def prepare() -> object:
        return executor.prepare(request)

    async def execute() -> object:
        table = without_dynamodb.tables.for_tenant(
            caller.location, may_write=False, meter=caller.admitted, call_limit=caller.admitted.call_limit
        )
        return await executor.execute(executor.prepare(request), Context(caller, table), request_id="")

    return {
        "  the application, without the socket": lambda: post(stack.application, session.token),
        "    the same without DynamoDB": lambda: post(without_dynamodb.application, session.token),
        "    verify the token, from the cache": lambda: verifier.verify(session.token),
        "    parse and validate, from the cache": prepare,
        "    execute, with a recorded response": execute,
        "    call DynamoDB and decode the items": lambda: UserRepository(table).newest(first=20, after=None),
    }


async def _stack_without_dynamodb(stack: ServiceStack, session: ApiClient) -> ServiceStack:
    """Returns a stack whose client answers each Query with the same recorded response."""
    responses: list[Answer] = []

    class RecordingClient(RepeatingClient):
        async def call(self, *call: Any) -> Answer:
            responses.append(await stack.tables.client.call(*call))
            return responses[-1]

    recording = replace(stack.tables, client=RecordingClient({}))
    table = recording.for_tenant(TenantLocation(tenant=session.tenant), may_write=False)
    await UserRepository(table).newest(first=20, after=None)
    tables = replace(stack.tables, client=RepeatingClient(responses[0]))
    return replace(stack, tables=tables, application=_application_without_queries(stack, responses[0]))


def _application_without_queries(stack: ServiceStack, page: Answer) -> Any:
    """Returns an application that calls DynamoDB only for the tenant's record, which it reads every five seconds."""

    class QueryRepeatingClient(RepeatingClient):
        async def call(self, operation: str, *rest: Any) -> Answer:
            return page if operation == "Query" else await stack.tables.client.call(operation, *rest)

    tables = replace(stack.tables, client=QueryRepeatingClient(page))
    return stack.serve(
        tables=tables, settings=stack.settings
    )  # with the cache of revocations, as the other application


async def post(application: Any, token: str, *, expect_rejection: bool = False) -> None:
    """Sends one request to the application, without a socket. Exits for an error that is not expected."""
    messages: list[Any] = []
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
        messages.append(message)

    await application(scope, receive, send)
    if not expect_rejection and (messages[0]["status"] != 200 or b'"errors"' in messages[1]["body"]):
        raise SystemExit(messages[1]["body"])


async def _cpu_microseconds(work: Callable[[], Awaitable[object]], calls: int) -> float:
    """Returns the CPU time of a call, after calls that fill the caches."""
    for _ in range(calls // 10 + 1):
        await work()
    return await async_cpu_microseconds(work, calls)


def _start_stack(url: str, key: ec.EllipticCurvePrivateKey, revocation_seconds: float) -> ServiceStack:
    stack = ServiceStack.start(url, TABLE, DevelopmentIssuer(key=key))
    settings = stack.settings.model_copy(update={"revocation_seconds": revocation_seconds})
    return replace(stack, settings=settings, application=stack.serve(settings=settings))


def _over_socket(
    stack: ServiceStack, key: ec.EllipticCurvePrivateKey, session: ApiClient, directory: Path, calls: int
) -> float:
    """Returns the CPU time of a server in a process of its own, so that the client's CPU time is not counted."""
    plan = directory / "plan.json"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    port = free_port()
    seconds = stack.settings.revocation_seconds
    plan.write_text(json.dumps({"url": stack.engine_url, "key": pem, "port": port, "revocation_seconds": seconds}))
    server = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.graphql_request", "--serve", str(plan)])
    try:
        _send_requests(port, session.token, 50, timeout_seconds=20.0)
        before = _process_cpu_seconds(server.pid)
        _send_requests(port, session.token, calls, timeout_seconds=1.0)
        return (_process_cpu_seconds(server.pid) - before) / calls * 1e6
    finally:
        server.terminate()
        server.wait()


def _serve(plan: dict[str, Any]) -> None:
    import uvicorn

    key = load_pem_private_key(plan["key"].encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    application = _start_stack(plan["url"], key, plan["revocation_seconds"]).application
    log.configure(as_json=True)
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    uvicorn.run(application, port=plan["port"], loop="uvloop", http="httptools", log_config=None, access_log=False)


def _send_requests(port: int, token: str, count: int, timeout_seconds: float) -> None:
    request = graphql_request(token, json.dumps(BODY).encode())
    with connect(port, timeout_seconds) as connection:
        reader = connection.makefile("rb")
        for _ in range(count):
            exchange(connection, reader, request)


def _process_cpu_seconds(pid: int) -> float:
    """Returns the user and system time of a process, from the fields 14 and 15 of /proc/PID/stat."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _print_rows(rows: list[tuple[str, float]]) -> None:
    print(f"\n{'a list of 20 users':<45}{'CPU µs per request':>20}")
    for name, cost in rows:
        print(f"{name:<45}{cost:>20,.0f}")


if __name__ == "__main__":
    main()
