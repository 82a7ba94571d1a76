"""What a tenant at many times its quota does to a quiet neighbour: the neighbour's latency alone, then beside it.

Both talk to one server process over sockets, each from a process of its own. The phases take turns, so that whatever
else the machine does meets all of them. A third phase has a noisy tenant whose quota lets everything in: the harm that
quotas are there to prevent.

Run: uv run python -m tests.benchmarks.noise [--rounds 4] [--seconds 8] [--quota 20] [--times 20]
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
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from cryptography.hazmat.primitives.asymmetric import ec

from iam.deployment import Deployment
from iam.gate.account import Account
from iam.gate.sessions import Sessions
from service import app, log
from service.app.heap import keep_for_good
from service.auth.role import Role
from service.domains.users.repository import Users
from service.local import dynoxide
from service.local.binary import obtain, shared_cache
from service.local.issuer import LocalIssuer
from service.settings import Settings
from service.tenancy.quotas import Overrides
from service.tenancy.register import Register
from tests.api.limited import Server
from tests.benchmarks.graphql import BODY, _post
from tests.world import Session, World

TABLE = "noise"
QUIET_RATE = 25
NOISY_CONNECTIONS = 64
PHASES = ("alone", "beside a tenant over its quota", "beside a tenant without a quota")


@dataclass
class Asker:
    """A caller's process."""

    port: int
    session: Session
    connections: int
    process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.asker"]
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
    parser.add_argument("--rounds", type=int, default=4)
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
        engine = dynoxide.start(Path(directory), lambda _: None, obtain(shared_cache(), print))
        world = World.over(engine.url, TABLE, LocalIssuer(key=ec.generate_private_key(ec.SECP256R1())))
        try:
            quiet, noisy, free = asyncio.run(_tenants(world, given.quota))
            _refusals(world)
            keep_for_good()
            _run(world, Path(directory), given, quiet, noisy, free)
        finally:
            world.close()
            engine.stop()


async def _tenants(world: World, quota: int) -> tuple[Session, Session, Session]:
    quiet, noisy, free = [world.session(await world.new_tenant(name)) for name in ("quiet", "noisy", "noisy-free")]
    for session in (quiet, noisy, free):
        for number in range(40):
            create = Users(world.table(session.tenant)).create
            await create(email=f"{number}@x.example", name=f"User {number}", role=Role.MEMBER)
    register = Register(world.tables.control(writes=True), "benchmark")
    limited = Overrides(requests_per_second=quota, read_units_per_second=quota * 10, write_units_per_second=quota)
    await register.change(noisy.tenant, "quotas", lambda one: replace(one, overrides=limited), detail={})
    return quiet, noisy, free


def _run(world: World, directory: Path, given: Any, quiet: Session, noisy: Session, free: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    plan = directory / "plan.json"
    shown = world.settings.model_dump(mode="json") | {"cursor_keys": ["dev-" + "A" * 43]}
    plan.write_text(json.dumps({"settings": shown, "gate_key": world.gate_key.hex(), "port": port}))
    server = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.noise", "--serve", str(plan)])
    askers = [Asker(port, quiet, 8), Asker(port, noisy, NOISY_CONNECTIONS), Asker(port, free, NOISY_CONNECTIONS)]
    try:
        _await(port)
        for asker in askers:
            asker.begin(5, 2)
            asker.result()
        _show(_measured(askers, given), given)
    finally:
        for asker in askers:
            asker.close()
        server.terminate()
        server.wait()


def _measured(askers: list[Asker], given: Any) -> dict[str, list[dict[str, Any]]]:
    quiet, *loud = askers
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (*PHASES, *(f"of the {one}" for one in PHASES[1:]))}
    for _ in range(given.rounds):
        for name, neighbour in zip(PHASES, (None, *loud), strict=True):
            if neighbour:
                neighbour.begin(given.quota * given.times, given.seconds)
            quiet.begin(QUIET_RATE, given.seconds)
            found[name].append(quiet.result())
            if neighbour:
                found[f"of the {name}"].append(neighbour.result())
            time.sleep(0.5)
    return found


def _show(found: dict[str, list[dict[str, Any]]], given: Any) -> None:
    _row(f"{QUIET_RATE} requests a second of a quiet tenant", "p50 ms", "p99 ms", "of alone", "requests")
    alone = _quantile(found[PHASES[0]], 0.99)
    for name in PHASES:
        p50, p99 = _quantile(found[name], 0.5), _quantile(found[name], 0.99)
        number = sum(len(one["served"]) for one in found[name])
        _row(name, f"{p50 * 1000:.1f}", f"{p99 * 1000:.1f}", f"{p99 / alone:.2f}", f"{number}")
    _row(f"{given.quota * given.times} requests a second, quota {given.quota}", "served/s", "refused/s", "not sent/s")
    for name in PHASES[1:]:
        rows, seconds = found[f"of the {name}"], given.rounds * given.seconds
        served = sum(len(one["served"]) for one in rows) / seconds
        refused, late = (sum(one[key] for one in rows) / seconds for key in ("refused", "late"))
        _row(name.removeprefix("beside "), f"{served:.1f}", f"{refused:.1f}", f"{late:.1f}")


def _row(name: str, *columns: str) -> None:
    print(f"{name:<42}" + "".join(f"{one:>12}" for one in columns))


def _quantile(rows: list[dict[str, Any]], part: float) -> float:
    times: list[float] = sorted(seconds for row in rows for seconds in row["served"])
    return times[min(len(times) - 1, int(len(times) * part))]


def _refusals(world: World) -> None:
    """CPU for one request that is refused, from the ASGI message to the answer, without the socket."""
    log.configure(as_json=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    print(f"{'CPU for one refusal, without the socket':<44}{asyncio.run(_refusal(world)):>10.0f} µs")


async def _refusal(world: World) -> float:
    """The server's clock stands, so that nothing comes back to the tenant meanwhile."""
    server, times, best = Server(world=world), 1_000, []
    session = await server.tenant(requests_per_second=1)
    for _ in range(8):
        start = time.process_time_ns()
        for _ in range(times):
            await _post(server.application, session.token, refused=True)
        best.append((time.process_time_ns() - start) / times / 1000)
    return min(best)


def _serve(plan: dict[str, Any]) -> None:
    import uvicorn

    settings = Settings(**plan["settings"])
    sessions = Sessions(Account.of(Deployment(table=settings.table)), bytes.fromhex(plan["gate_key"]))
    vending = app.local_vending(settings, sessions)
    log.configure(as_json=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    application = app.application(settings, app.local_tables(settings, vending), vending)
    keep_for_good()
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
