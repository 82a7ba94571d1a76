"""Measures the latency of a quiet tenant, first alone and then next to a tenant far above its quota.

Both talk to one server process over sockets, each from a process of its own. The two phases take turns in rounds, each
round compares its own, and of the rounds the median counts. A round in which the host gave much of the processors to
other machines tells nothing of this one, and is measured again. Last comes a noisy tenant whose quota lets everything
in: the harm that quotas are there to prevent.

Run: uv run python -m tests.benchmarks.noisy_neighbour [--rounds 7] [--seconds 8] [--quota 20] [--times 20]
"""

import argparse
import asyncio
import json
import os
import socket
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
from tests.benchmarks.graphql import BODY, _post
from tests.engines import shared_cache
from tests.stack import ApiClient, ServiceStack
from tests.system.api.quota_server import QuotaServer

TABLE = "noise"
QUIET_RATE = 25
NOISY_CONNECTIONS = 64
MOST_STOLEN, MOST_DISTURBED = 0.02, 30


class Phase(NamedTuple):
    """The latencies of the quiet tenant, and the counts of the other tenant's requests."""

    times: list[float]
    neighbour: dict[str, Any]

    def quantile(self, part: float) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(len(self.times) * part))]


class Round(NamedTuple):
    alone: Phase
    beside: Phase


@dataclass
class Asker:
    """The process of a caller."""

    port: int
    session: ApiClient
    connections: int
    process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.load_client"]
        if self.connections == NOISY_CONNECTIONS and os.environ.get("EXP_NICE"):
            command = ["nice", "-n", os.environ["EXP_NICE"], *command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, rate: float, seconds: float) -> None:
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
        answer: dict[str, Any] = json.loads(cast("IO[str]", self.process.stdout).readline())
        return answer

    def close(self) -> None:
        cast("IO[str]", self.process.stdin).close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each phase of a round takes")
    parser.add_argument("--quota", type=int, default=20, help="the noisy tenant's requests a second")
    parser.add_argument("--times", type=int, default=20, help="how many times its quota it asks")
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if os.environ.get("EXP_SWITCH"):
        sys.setswitchinterval(float(os.environ["EXP_SWITCH"]))
    if given.serve:
        _serve(json.loads(Path(given.serve).read_text()))
        return
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        stack = ServiceStack.start(engine.url, TABLE, DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
        try:
            quiet, noisy, free = asyncio.run(_tenants(stack, given.quota))
            _refusals(stack)
            tune_process()
            _run(stack, Path(directory), given, quiet, noisy, free)
        finally:
            stack.close()
            engine.stop()


async def _tenants(stack: ServiceStack, quota: int) -> tuple[ApiClient, ApiClient, ApiClient]:
    quiet, noisy, free = [stack.api_client(await stack.new_tenant(name)) for name in ("quiet", "noisy", "noisy-free")]
    for session in (quiet, noisy, free):
        for number in range(40):
            create = UserRepository(stack.table(session.tenant)).create
            await create(email=f"{number}@x.example", name=f"User {number}", role=Role.MEMBER)
    tenants = TenantRepository(stack.tables.for_control_plane(writes=True), "benchmark")
    limited = QuotaOverrides(requests_per_second=quota, read_units_per_second=quota * 10, write_units_per_second=quota)
    await tenants.change(
        noisy.tenant, TenantEventKind.QUOTAS_CHANGED, lambda one: replace(one, overrides=limited), detail={}
    )
    return quiet, noisy, free


def _run(stack: ServiceStack, directory: Path, given: Any, quiet: ApiClient, noisy: ApiClient, free: ApiClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    plan = directory / "plan.json"
    shown = stack.settings.model_dump(mode="json") | {"cursor_keys": ["dev-" + "A" * 43]}
    plan.write_text(json.dumps({"settings": shown, "gate_key": stack.gate_key.hex(), "port": port}))
    server = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.noisy_neighbour", "--serve", str(plan)])
    askers = [Asker(port, quiet, 8), Asker(port, noisy, NOISY_CONNECTIONS), Asker(port, free, NOISY_CONNECTIONS)]
    try:
        _await(port)
        for asker in askers:
            asker.begin(5, 2)
            asker.result()
        rounds = _measured(askers, given)
        _show(rounds, _phase(askers[0], askers[2], given), given)
    finally:
        for asker in askers:
            asker.close()
        server.terminate()
        server.wait()


def _measured(askers: list[Asker], given: Any) -> list[Round]:
    quiet, noisy, _ = askers
    rounds, disturbed = list[Round](), 0
    while len(rounds) < given.rounds:
        before = _stolen()
        found = Round(_phase(quiet, None, given), _phase(quiet, noisy, given))
        taken = (_stolen() - before) / (2 * given.seconds)
        if taken > MOST_STOLEN and disturbed < MOST_DISTURBED:
            disturbed += 1
            print(f"the host took {taken:.1%} of a processor: once more", file=sys.stderr)
            continue
        rounds.append(found)
    return rounds


def _phase(quiet: Asker, neighbour: Asker | None, given: Any) -> Phase:
    if neighbour:
        neighbour.begin(given.quota * given.times, given.seconds)
    quiet.begin(QUIET_RATE, given.seconds)
    found = Phase(quiet.result()["served"], neighbour.result() if neighbour else {})
    time.sleep(0.5)
    return found


def _stolen() -> float:
    """Returns the seconds of CPU time that the host took from this machine, if the kernel reports them."""
    try:
        return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def _show(rounds: list[Round], free: Phase, given: Any) -> None:
    alone, beside = [one.alone for one in rounds], [one.beside for one in rounds]
    _row(f"{QUIET_RATE} requests a second of a quiet tenant", "p50 ms", "p99 ms", "of alone", "from", "to")
    for name, phases, against in (
        ("alone", alone, alone),
        ("beside a tenant over its quota", beside, alone),
        ("beside one without a quota, once", [free], alone[-1:]),
    ):
        p50, p99 = (median(one.quantile(part) for one in phases) * 1000 for part in (0.5, 0.99))
        ratios = [one.quantile(0.99) / other.quantile(0.99) for one, other in zip(phases, against, strict=True)]
        _row(name, f"{p50:.1f}", f"{p99:.1f}", *(f"{one:.2f}" for one in (median(ratios), min(ratios), max(ratios))))
    _row(f"{given.quota * given.times} requests a second, quota {given.quota}", "served/s", "refused/s", "not sent/s")
    for name, phases in (("a tenant over its quota", beside), ("one without a quota, once", [free])):
        rows = [{**one.neighbour, "served": len(one.neighbour["served"])} for one in phases]
        rates = [sum(row[key] for row in rows) / len(rows) / given.seconds for key in ("served", "refused", "late")]
        _row(name, *(f"{rate:.1f}" for rate in rates))


def _row(name: str, *columns: str) -> None:
    print(f"{name:<42}" + "".join(f"{one:>12}" for one in columns))


def _refusals(stack: ServiceStack) -> None:
    """Returns the CPU time of a refused request, without the socket."""
    log.configure(as_json=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    print(f"{'CPU for one refusal, without the socket':<44}{asyncio.run(_refusal(stack)):>10.0f} µs")


async def _refusal(stack: ServiceStack) -> float:
    """Stops the server's clock, so that the tenant's bucket does not refill."""
    server, times, best = QuotaServer(stack=stack), 1_000, []
    session = await server.new_tenant_client(requests_per_second=1)
    for _ in range(8):
        start = time.process_time_ns()
        for _ in range(times):
            await _post(server.application, session.token, refused=True)
        best.append((time.process_time_ns() - start) / times / 1000)
    return min(best)


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


def _await(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return


if __name__ == "__main__":
    main()
