"""A caller in a process of its own that sends requests at a fixed rate and does not wait for responses.

Run by other benchmarks: python -m tests.benchmarks.load_client, with a plan as JSON on stdin, until stdin is closed.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Asked:
    """The latency of each request that was served, and the number of those that were refused."""

    served: list[float] = field(default_factory=list)
    refused: int = 0
    late: int = 0
    """Requests that were not sent in time because every connection was busy."""


async def ask(plan: dict[str, Any]) -> Asked:
    """Sends requests at even intervals over a few open connections."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(plan["connections"]):
        free.put_nowait(await Connection.open(plan["port"], plan["token"], plan["body"].encode()))
    asked, tasks, start = Asked(), set(), time.perf_counter()
    for number in range(int(plan["rate"] * plan["seconds"])):
        await asyncio.sleep(max(0.0, start + number / plan["rate"] - time.perf_counter()))
        if free.empty():
            asked.late += 1
            continue
        task = asyncio.ensure_future(_one(free, free.get_nowait(), asked))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().writer.close()
    return asked


@dataclass
class Connection:
    """A connection with one request at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request: bytes

    @classmethod
    async def open(cls, port: int, token: str, body: bytes) -> "Connection":
        head = (
            f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        return cls(reader, writer, head.encode() + body)

    async def status(self) -> int:
        self.writer.write(self.request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        await self.reader.readexactly(int(fields[b"content-length"]))
        return int(head.split(b" ", 2)[1])


async def _one(free: "asyncio.Queue[Connection]", connection: Connection, asked: Asked) -> None:
    start = time.perf_counter()
    status = await connection.status()
    if status == 200:
        asked.served.append(time.perf_counter() - start)
    elif status == 429:
        asked.refused += 1
    else:
        raise SystemExit(f"status {status}")
    free.put_nowait(connection)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(asdict(asyncio.run(ask(json.loads(line))))), flush=True)


if __name__ == "__main__":
    main()
