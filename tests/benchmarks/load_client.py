"""A client in a process of its own that sends requests at a fixed rate and does not wait for responses.

Other benchmarks run it: python -m tests.benchmarks.load_client. Each line on stdin is a plan in JSON. After each plan,
the client prints the result in one line. It ends when stdin is closed.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.benchmarks.http_connection import HOST, graphql_request


@dataclass
class LoadResult:
    """The results of all requests."""

    latencies: list[float] = field(default_factory=list)
    """The seconds until the response, for each request that was served."""
    rejected: int = 0
    """The number of requests with status 429."""
    not_sent: int = 0
    """The number of requests that were skipped because every connection was busy."""


async def send_load(plan: dict[str, Any]) -> LoadResult:
    """Sends requests at even intervals over a few open connections."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(plan["connections"]):
        free.put_nowait(await Connection.open(plan["port"], plan["token"], plan["body"].encode()))
    result, tasks, start = LoadResult(), set(), time.perf_counter()
    for number in range(int(plan["rate"] * plan["seconds"])):
        await asyncio.sleep(max(0.0, start + number / plan["rate"] - time.perf_counter()))
        if free.empty():
            result.not_sent += 1
            continue
        task = asyncio.ensure_future(_send_one(free, free.get_nowait(), result))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().writer.close()
    return result


@dataclass
class Connection:
    """A connection that sends the same request again and again, one at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request: bytes

    @classmethod
    async def open(cls, port: int, token: str, body: bytes) -> "Connection":
        reader, writer = await asyncio.open_connection(HOST, port)
        return cls(reader, writer, graphql_request(token, body))

    async def send(self) -> int:
        """Sends the request and returns the status of the response."""
        self.writer.write(self.request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        await self.reader.readexactly(int(fields[b"content-length"]))
        return int(head.split(b" ", 2)[1])


async def _send_one(free: "asyncio.Queue[Connection]", connection: Connection, result: LoadResult) -> None:
    start = time.perf_counter()
    status = await connection.send()
    if status == 200:
        result.latencies.append(time.perf_counter() - start)
    elif status == 429:
        result.rejected += 1
    else:
        raise SystemExit(f"status {status}")
    free.put_nowait(connection)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(asdict(asyncio.run(send_load(json.loads(line))))), flush=True)


if __name__ == "__main__":
    main()
