"""A quiet tenant beside another tenant on one server process: what the benchmarks of neighbours share.

The server and each client are processes of their own. A round has two phases: the quiet tenant alone, and beside the
other tenant. A round is repeated if the host gave much of its CPU time to other machines.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec

from keyfence import log
from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access
from keyfence.app.process_tuning import tune_process
from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.settings import Settings
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tier_quotas import QuotaOverrides
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles import ROLES
from tests.benchmarks.graphql_request import BODY
from tests.benchmarks.http_connection import connect, free_port
from tests.benchmarks.load_client import LoadClient, LoadResult
from tests.engines import shared_cache
from tests.fakes.fences import INDEX_KEY
from tests.stack import ApiClient, ServiceStack

QUIET_BODY = json.dumps(BODY)
QUIET_REQUESTS_PER_SECOND = 50
QUIET_CONNECTIONS = 8
NOISY_CONNECTIONS = 64
MAX_STOLEN_SHARE = 0.02
"""The share of a processor that the host may take away in a round that counts."""
MAX_REPEATED_ROUNDS = 30
"""After so many repetitions every round counts, so that the benchmark ends on a busy host."""


class Phase(NamedTuple):
    """The latencies of the quiet tenant in seconds, and the result of the other tenant. An idle tenant has none."""

    latencies: list[float]
    other_result: LoadResult

    def quantile(self, part: float) -> float:
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(len(self.latencies) * part))]


class Round(NamedTuple):
    """The quiet tenant alone, and beside the other tenant."""

    alone: Phase
    beside: Phase

    @property
    def p99_ratio(self) -> float:
        return self.beside.quantile(0.99) / self.alone.quantile(0.99)


@contextmanager
def local_stack(table: str) -> Iterator[ServiceStack]:
    """Runs dynoxide and the service's table until the `with` statement ends."""
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        stack = ServiceStack.start(engine.url, table, DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
        try:
            yield stack
        finally:
            stack.close()
            engine.stop()


async def tenant_with_users(stack: ServiceStack, name: str) -> ApiClient:
    session = stack.api_client(await stack.new_tenant(name))
    users = UserRepository(stack.table(session.tenant))
    for number in range(40):
        await users.create(email=f"{number}@x.example", name=f"User {number}", role=Role.MEMBER)
    return session


async def override_quotas(stack: ServiceStack, session: ApiClient, quotas: QuotaOverrides) -> None:
    tenants = TenantRepository(stack.tables.for_control_plane(may_write=True), "benchmark")
    await tenants.change(
        session.tenant, TenantEventKind.QUOTAS_CHANGED, lambda tenant: replace(tenant, overrides=quotas), detail={}
    )


@dataclass
class NeighbourServer:
    """A server process, and a client process for each tenant. The first client is the quiet tenant."""

    clients: list[LoadClient]
    seconds: float
    """How long each phase takes."""

    def measure(self, other: LoadClient | None, bodies: list[str], rate: float) -> Phase:
        if other:
            other.start(bodies, rate, self.seconds)
        quiet = self.clients[0]
        quiet.start([QUIET_BODY], QUIET_REQUESTS_PER_SECOND, self.seconds)
        phase = Phase(quiet.result().latencies, other.result() if other else LoadResult())
        time.sleep(0.5)
        return phase

    def measure_rounds(self, count: int, other: LoadClient, bodies: list[str], rate: float) -> list[Round]:
        rounds, repeated = list[Round](), 0
        while len(rounds) < count:
            stolen_before = _stolen_seconds()
            measured = Round(self.measure(None, [], 0), self.measure(other, bodies, rate))
            stolen_share = (_stolen_seconds() - stolen_before) / (2 * self.seconds)
            if stolen_share > MAX_STOLEN_SHARE and repeated < MAX_REPEATED_ROUNDS:
                repeated += 1
                print(f"the host took {stolen_share:.1%} of a processor: the round is repeated", file=sys.stderr)
                continue
            rounds.append(measured)
        return rounds


@contextmanager
def neighbour_server(stack: ServiceStack, sessions: list[ApiClient], seconds: float) -> Iterator[NeighbourServer]:
    """Runs the server and a client for each session until the `with` statement ends."""
    port = free_port()
    settings = stack.settings.model_dump(mode="json", exclude_unset=True)
    settings |= {"cursor_keys": ["dev-" + "A" * 43], "index_key": INDEX_KEY}
    plan = json.dumps({"settings": settings, "gate_key": stack.gate_key.hex(), "port": port})
    server = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.neighbours", plan])
    connections = [QUIET_CONNECTIONS, *[NOISY_CONNECTIONS] * (len(sessions) - 1)]
    clients = [LoadClient(port, session.token, count) for session, count in zip(sessions, connections, strict=True)]
    try:
        connect(port, timeout_seconds=30).close()
        for client in clients:
            client.start([QUIET_BODY], 5, 2)
            client.result()
        yield NeighbourServer(clients, seconds)
    finally:
        for client in clients:
            client.close()
        server.terminate()
        server.wait()


def print_row(name: str, *columns: str) -> None:
    print(f"{name:<42}" + "".join(f"{column:>12}" for column in columns), flush=True)


def _stolen_seconds() -> float:
    """Returns the seconds of CPU time that the host took from this machine, if the kernel reports them."""
    try:
        return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def _serve(plan: dict[str, Any]) -> None:
    import uvicorn

    settings = Settings(**plan["settings"])
    sessions = SessionIssuer(
        Account.from_definitions(ROLES, Deployment(table=settings.table)), bytes.fromhex(plan["gate_key"])
    )
    log.configure(as_json=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    application = Service(aws_access(settings, sessions).connect()).app
    tune_process()
    uvicorn.run(application, port=plan["port"], loop="uvloop", http="httptools", log_config=None, access_log=False)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
