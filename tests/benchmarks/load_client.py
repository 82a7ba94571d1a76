"""A client in a process of its own that sends requests at a fixed rate and does not wait for responses.

Other benchmarks run it with `LoadClient`. Each line on stdin is a plan in JSON. After each plan, the process prints the
result in one line. It ends when stdin is closed.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import IO, Any, cast

from tests.benchmarks.http_connection import HOST, graphql_request

NONCE = "00000000"
"""The client replaces this text in a body with the number of the request, so that no two bodies are equal."""
EXPECTED_STATUSES = frozenset({200, 400, 429})


@dataclass
class LoadResult:
    """The results of all requests."""

    latencies: list[float] = field(default_factory=list)
    """The seconds until the response, for each request with status 200."""
    statuses: Counter[int] = field(default_factory=Counter)
    """The number of responses by their status."""
    not_sent: int = 0
    """The number of requests that were skipped because every connection was busy."""


@dataclass
class LoadClient:
    """A process of this module, which sends requests of one tenant."""

    port: int
    token: str
    connections: int
    process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.load_client"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, bodies: Sequence[str], rate: float, seconds: float) -> None:
        """Sends the bodies in turn, `rate` of them a second."""
        plan = {
            "port": self.port,
            "token": self.token,
            "bodies": bodies,
            "rate": rate,
            "seconds": seconds,
            "connections": self.connections,
        }
        print(json.dumps(plan), file=cast("IO[str]", self.process.stdin), flush=True)

    def result(self) -> LoadResult:
        """Waits for the result of the plan that was started last."""
        values = json.loads(cast("IO[str]", self.process.stdout).readline())
        statuses = Counter({int(status): count for status, count in values["statuses"].items()})
        return LoadResult(values["latencies"], statuses, values["not_sent"])

    def close(self) -> None:
        cast("IO[str]", self.process.stdin).close()
        self.process.wait()


async def send_load(plan: dict[str, Any]) -> LoadResult:
    """Sends requests at even intervals over a few open connections."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(plan["connections"]):
        free.put_nowait(await Connection.open(plan["port"]))
    bodies, token = cycle(plan["bodies"]), plan["token"]
    result, tasks, start = LoadResult(), set(), time.perf_counter()
    for number in range(int(plan["rate"] * plan["seconds"])):
        await asyncio.sleep(max(0.0, start + number / plan["rate"] - time.perf_counter()))
        if free.empty():
            result.not_sent += 1
            continue
        request = graphql_request(token, next(bodies).replace(NONCE, f"{number:08}").encode())
        task = asyncio.ensure_future(_send_one(free, free.get_nowait(), request, result))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().writer.close()
    return result


@dataclass
class Connection:
    """A connection that sends one request at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection(HOST, port))

    async def send(self, request: bytes) -> int:
        """Sends the request and returns the status of the response."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        await self.reader.readexactly(int(fields[b"content-length"]))
        return int(head.split(b" ", 2)[1])


async def _send_one(
    free: "asyncio.Queue[Connection]", connection: Connection, request: bytes, result: LoadResult
) -> None:
    start = time.perf_counter()
    status = await connection.send(request)
    result.statuses[status] += 1
    if status == 200:
        result.latencies.append(time.perf_counter() - start)
    elif status not in EXPECTED_STATUSES:
        raise SystemExit(f"status {status}")
    free.put_nowait(connection)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(vars(asyncio.run(send_load(json.loads(line))))), flush=True)


if __name__ == "__main__":
    main()
