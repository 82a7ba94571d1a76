"""Measures the latency of a quiet tenant, first alone and then next to a tenant far above its quota.

Each tenant has a client in a process of its own. Both send requests to one server process. Each round has two phases:
the quiet tenant alone, and beside the noisy tenant. The output has the medians of all rounds. A round is repeated if
the host gave much of its CPU time to other machines. The last measurement is beside a noisy tenant without a quota,
and shows the harm that quotas prevent.

Run: uv run python -m tests.benchmarks.noisy_neighbour [--rounds 7] [--seconds 8] [--quota 20] [--times 20]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, cast

from cryptography.hazmat.primitives.asymmetric import ec

from keyfence import log
from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access
from keyfence.app.production import tune_process
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
from tests.benchmarks.cpu_time import async_cpu_microseconds
from tests.benchmarks.graphql_request import BODY, post
from tests.benchmarks.http_connection import connect, free_port
from tests.engines import shared_cache
from tests.stack import ApiClient, ServiceStack
from tests.system.api.quota_server import QuotaServer

TABLE = "noise"
QUIET_REQUESTS_PER_SECOND = 25
NOISY_CONNECTIONS = 64
MAX_STOLEN_SHARE = 0.02
"""The share of a processor that the host may take away in a round that counts."""
MAX_REPEATED_ROUNDS = 30
"""After so many repetitions every round counts, so that the benchmark ends on a busy host."""


class Phase(NamedTuple):
    """The latencies of the quiet tenant in seconds, and the load result of the noisy tenant, if there is one."""

    latencies: list[float]
    noisy_result: dict[str, Any]

    def quantile(self, part: float) -> float:
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(len(self.latencies) * part))]


class Round(NamedTuple):
    """The quiet tenant alone, and beside the noisy tenant."""

    alone: Phase
    beside_noisy: Phase


@dataclass
class LoadClient:
    """A process of `load_client`, which sends requests of one tenant."""

    port: int
    session: ApiClient
    connections: int
    process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.load_client"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, rate: float, seconds: float) -> None:
        plan = {
            "port": self.port,
            "token": self.session.token,
            "body": json.dumps(BODY),
            "rate": rate,
            "seconds": seconds,
            "connections": self.connections,
        }
        print(json.dumps(plan), file=cast("IO[str]", self.process.stdin), flush=True)

    def result(self) -> dict[str, Any]:
        """Waits for the result of the plan that was started last."""
        result: dict[str, Any] = json.loads(cast("IO[str]", self.process.stdout).readline())
        return result

    def close(self) -> None:
        cast("IO[str]", self.process.stdin).close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each phase of a round takes")
    parser.add_argument("--quota", type=int, default=20, help="the noisy tenant's requests a second")
    parser.add_argument("--times", type=int, default=20, help="how many times its quota the noisy tenant sends")
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(json.loads(Path(arguments.serve).read_text()))
        return
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        stack = ServiceStack.start(engine.url, TABLE, DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
        try:
            quiet, noisy, unlimited = asyncio.run(_tenants(stack, arguments.quota))
            _print_rejection_cost(stack)
            tune_process()
            _run(stack, Path(directory), arguments, quiet, noisy, unlimited)
        finally:
            stack.close()
            engine.stop()


async def _tenants(stack: ServiceStack, quota: int) -> tuple[ApiClient, ApiClient, ApiClient]:
    quiet, noisy, unlimited = [
        stack.api_client(await stack.new_tenant(name)) for name in ("quiet", "noisy", "noisy-free")
    ]
    for session in (quiet, noisy, unlimited):
        for number in range(40):
            create = UserRepository(stack.table(session.tenant)).create
            await create(email=f"{number}@x.example", name=f"User {number}", role=Role.MEMBER)
    tenants = TenantRepository(stack.tables.for_control_plane(may_write=True), "benchmark")
    small_quota = QuotaOverrides(
        requests_per_second=quota, read_units_per_second=quota * 10, write_units_per_second=quota
    )
    await tenants.change(
        noisy.tenant, TenantEventKind.QUOTAS_CHANGED, lambda one: replace(one, overrides=small_quota), detail={}
    )
    return quiet, noisy, unlimited


def _run(
    stack: ServiceStack, directory: Path, arguments: Any, quiet: ApiClient, noisy: ApiClient, unlimited: ApiClient
) -> None:
    port = free_port()
    plan = directory / "plan.json"
    settings = stack.settings.model_dump(mode="json") | {"cursor_keys": ["dev-" + "A" * 43]}
    plan.write_text(json.dumps({"settings": settings, "gate_key": stack.gate_key.hex(), "port": port}))
    server = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.noisy_neighbour", "--serve", str(plan)])
    clients = [
        LoadClient(port, quiet, 8),
        LoadClient(port, noisy, NOISY_CONNECTIONS),
        LoadClient(port, unlimited, NOISY_CONNECTIONS),
    ]
    try:
        connect(port, timeout_seconds=30).close()
        for client in clients:
            client.start(5, 2)
            client.result()
        rounds = _measure_rounds(clients, arguments)
        _print_result(rounds, _phase(clients[0], clients[2], arguments), arguments)
    finally:
        for client in clients:
            client.close()
        server.terminate()
        server.wait()


def _measure_rounds(clients: list[LoadClient], arguments: Any) -> list[Round]:
    quiet, noisy, _ = clients
    rounds, repeated = list[Round](), 0
    while len(rounds) < arguments.rounds:
        before = _stolen_seconds()
        measured = Round(_phase(quiet, None, arguments), _phase(quiet, noisy, arguments))
        stolen_share = (_stolen_seconds() - before) / (2 * arguments.seconds)
        if stolen_share > MAX_STOLEN_SHARE and repeated < MAX_REPEATED_ROUNDS:
            repeated += 1
            print(f"the host took {stolen_share:.1%} of a processor: the round is repeated", file=sys.stderr)
            continue
        rounds.append(measured)
    return rounds


def _phase(quiet: LoadClient, noisy: LoadClient | None, arguments: Any) -> Phase:
    if noisy:
        noisy.start(arguments.quota * arguments.times, arguments.seconds)
    quiet.start(QUIET_REQUESTS_PER_SECOND, arguments.seconds)
    phase = Phase(quiet.result()["latencies"], noisy.result() if noisy else {})
    time.sleep(0.5)
    return phase


def _stolen_seconds() -> float:
    """Returns the seconds of CPU time that the host took from this machine, if the kernel reports them."""
    try:
        return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def _print_result(rounds: list[Round], beside_unlimited: Phase, arguments: Any) -> None:
    alone, beside = [one.alone for one in rounds], [one.beside_noisy for one in rounds]
    _print_row(
        f"{QUIET_REQUESTS_PER_SECOND} requests a second of a quiet tenant", "p50 ms", "p99 ms", "ratio", "min", "max"
    )
    for name, phases, baseline in (
        ("alone", alone, alone),
        ("beside a tenant over its quota", beside, alone),
        ("beside a tenant without a quota, once", [beside_unlimited], alone[-1:]),
    ):
        p50, p99 = (median(one.quantile(part) for one in phases) * 1000 for part in (0.5, 0.99))
        ratios = [one.quantile(0.99) / other.quantile(0.99) for one, other in zip(phases, baseline, strict=True)]
        _print_row(
            name, f"{p50:.1f}", f"{p99:.1f}", *(f"{one:.2f}" for one in (median(ratios), min(ratios), max(ratios)))
        )
    _print_row(
        f"{arguments.quota * arguments.times} requests a second, quota {arguments.quota}",
        "served/s",
        "rejected/s",
        "not sent/s",
    )
    for name, phases in (("a tenant over its quota", beside), ("a tenant without a quota, once", [beside_unlimited])):
        rows = [{**one.noisy_result, "served": len(one.noisy_result["latencies"])} for one in phases]
        rates = [
            sum(row[key] for row in rows) / len(rows) / arguments.seconds for key in ("served", "rejected", "not_sent")
        ]
        _print_row(name, *(f"{rate:.1f}" for rate in rates))


def _print_row(name: str, *columns: str) -> None:
    print(f"{name:<42}" + "".join(f"{one:>12}" for one in columns))


def _print_rejection_cost(stack: ServiceStack) -> None:
    """Prints the CPU time of a rejected request, without the socket."""
    log.configure(as_json=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    microseconds = asyncio.run(_rejection_microseconds(stack))
    print(f"{'CPU of a rejected request, without the socket':<46}{microseconds:>8.0f} µs")


async def _rejection_microseconds(stack: ServiceStack) -> float:
    """Returns the CPU time. The server's clock stands still, so that the tenant's bucket does not refill."""
    server = QuotaServer(stack=stack)
    session = await server.new_tenant_client(requests_per_second=1)
    return await async_cpu_microseconds(lambda: post(server.application, session.token, expect_rejection=True), 5_000)


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
    main()
