"""Measures whether local writes become slower with the number of writes that the data directory has seen.

Prints the time of 20 puts through the gate after 100, 10,000 and 100,000 writes, and then the lines per second that the
importer of `keyfence import` writes into that directory. The engine is dynoxide, and the table has a stream.

Run: uv run python -m tests.benchmarks.local_writes [--writes 100 10000 100000] [--lines 1000]
"""

import argparse
import asyncio
import io
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.app.domain_loading import load_domains
from keyfence.app.local_development import connection_options
from keyfence.bulk.importer import Importer
from keyfence.bulk.json_lines import encode_line
from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.customers.bulk import to_line
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.store.dynamodb.client import DynamoDbClient
from keyfence.store.ids import new_id
from keyfence.store.shards import UNSHARDED
from keyfence.store.table import MAX_TRANSACTION_WRITES
from keyfence.store.writes import put
from keyfence_iam.tenant import TenantId
from tests.engines import shared_cache
from tests.fakes.fences import tenant_fence
from tests.stack import ENGINE_CREDENTIALS, ServiceStack

TIMED_PUTS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, nargs="+", default=[100, 10_000, 100_000], help="writes before each line")
    parser.add_argument("--lines", type=int, default=1_000, help="lines to import at the end")
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        try:
            asyncio.run(_measure(engine.url, sorted(arguments.writes), arguments.lines))
        finally:
            engine.stop()


async def _measure(engine_url: str, write_counts: Sequence[int], lines: int) -> None:
    stack = ServiceStack.start(engine_url, "written", DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
    tenant, written = await stack.new_tenant("acme"), 0
    print(f"{'writes before':>14}  ms for {TIMED_PUTS} puts")
    for count in write_counts:
        await _fill(stack, tenant, count - written)
        print(f"{count:>14,}  {1000 * await _time_puts(stack, tenant):.1f}")
        written = count + TIMED_PUTS
    seconds = await _time_import(stack, lines)
    print(f"import of {lines:,} customers: {lines / seconds:.0f} lines a second")
    stack.close()


async def _fill(stack: ServiceStack, tenant: TenantId, count: int) -> None:
    """Writes to the engine, without the gate. Every write becomes a record of the stream."""
    fence, table = tenant_fence(tenant), stack.tables.name
    engine = DynamoDbClient(replace(connection_options(stack.settings), endpoint_url=stack.engine_url))
    while count > 0:
        size = min(count, MAX_TRANSACTION_WRITES)
        puts = [
            {"Put": {"TableName": table, "Item": customers.to_item(_new_customer(), fence, UNSHARDED)}}
            for _ in range(size)
        ]
        await engine.call("TransactWriteItems", {"TransactItems": puts}, ENGINE_CREDENTIALS)
        count -= size
    engine.close()


async def _time_puts(stack: ServiceStack, tenant: TenantId) -> float:
    table = stack.table(tenant)
    await table.write(put(customers, _new_customer()))
    started_at = time.perf_counter()
    for _ in range(TIMED_PUTS):
        await table.write(put(customers, _new_customer()))
    return time.perf_counter() - started_at


async def _time_import(stack: ServiceStack, lines: int) -> float:
    table = stack.table(await stack.new_tenant("importer"))
    content = io.BytesIO(b"".join(encode_line(to_line(_new_customer())) for _ in range(lines)))
    importer = Importer.for_table(table, load_domains().record_kinds)
    started_at = time.perf_counter()
    await importer.run(content)
    return time.perf_counter() - started_at


def _new_customer() -> Customer:
    now, id = datetime.now(UTC), CustomerId(new_id("cus"))
    return Customer(id=id, name=f"Customer {id}", email=f"{id}@x.example", created_at=now, updated_at=now)


if __name__ == "__main__":
    main()
