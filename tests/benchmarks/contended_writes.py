"""Measures mutations of many clients that write the same items: requests a second, DynamoDB calls and retries of each.

`countProductView` adds to the counter of one product. `addMember` adds users to one group, or to one group for each
client. Client, server and gate run in this process, and the engine is dynoxide with an empty directory. The lines "to
the engine" send the same transactions to dynoxide directly, without their conditions, for a tenant with the same items.
CPU is the time of this process for one request. Python runs one thread at a time, so this process cannot answer more
than 1,000 requests a second divided by the CPU milliseconds.

Run: uv run python -m tests.benchmarks.contended_writes [--requests 200] [--clients 1 8 32] [--directory /dev/shm]
"""

import argparse
import asyncio
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from keyfence import log
from keyfence.app.local_development import connection_options
from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.store.dual_write.dual_transaction import DualTransaction
from keyfence.store.dynamodb.batches import chunks
from keyfence.store.dynamodb.client import Answer, DynamoDb, DynamoDbClient
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.table import MAX_TRANSACTION_WRITES
from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.engines import shared_cache
from tests.stack import ENGINE_CREDENTIALS, ApiClient, ServiceStack
from tests.system.jobs.move_run import items_in_both_tables

MAX_SECONDS = 20.0
"""A measurement ends after this time, even if requests are left."""

CREATE_CATEGORY = 'mutation { createCategory(path: ["x"]) { path } }'
CREATE_PRODUCT = "mutation($input: CreateProductInput!) { createProduct(input: $input) { id } }"
CREATE_GROUP = 'mutation { createGroup(input: {name: "G"}) { id } }'
COUNT_VIEW = "mutation($id: ID!) { countProductView(id: $id) }"
ADD_MEMBER = "mutation($group: ID!, $user: ID!) { addMember(groupId: $group, userId: $user) { role } }"

Request = Callable[[int], Awaitable[None]]
"""Sends request number n."""


@dataclass
class CallCounter:
    """A DynamoDB client that counts calls and errors, and keeps the transactions that succeeded."""

    client: DynamoDb
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    transactions: list[Mapping[str, Any]] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.calls[operation] += 1
        try:
            answer = await self.client.call(operation, parameters, credentials)
        except DynamoDbError as error:
            self.errors.update({*error.cancellation_reasons} - {"None"} or [error.code])
            raise
        if operation == "TransactWriteItems":
            self.transactions.append(parameters)
        return answer

    def clear(self) -> None:
        self.calls.clear()
        self.errors.clear()
        self.transactions = []

    def close(self) -> None:
        self.client.close()


@dataclass(frozen=True)
class Measurement:
    """Sends the same kind of request with several numbers of clients, and prints one line for each number."""

    counter: CallCounter
    requests: int
    clients: Sequence[int]

    async def run(self, name: str, request_for: Callable[[int], Awaitable[Request]]) -> None:
        for clients in self.clients:
            request = await request_for(clients)
            self.counter.clear()
            cpu_before = time.process_time()
            sent, failed, seconds = await send_all(request, self.requests, clients)
            cpu_milliseconds = 1000 * (time.process_time() - cpu_before) / sent
            operations = [f"{one} {count / sent:.1f}" for one, count in sorted(self.counter.calls.items())]
            errors = [f"{reason} {count}" for reason, count in self.counter.errors.most_common()]
            columns = f"{clients:>8}{sent / seconds:>12.1f}{cpu_milliseconds:>8.1f}{failed:>8}"
            print(f"{name:<26}{columns}  {', '.join(operations)}{'; ' if errors else ''}{', '.join(errors)}")


async def send_all(request: Request, count: int, clients: int) -> tuple[int, int, float]:
    """Sends `count` requests from this many clients. Returns the numbers of sent and of failed requests, and the
    seconds."""
    numbers, started_at, failures = iter(range(count)), time.perf_counter(), Counter[str]()
    sent = 0

    async def send_in_turn() -> None:
        nonlocal sent
        for number in numbers:
            if time.perf_counter() - started_at > MAX_SECONDS:
                return
            sent += 1
            try:
                await request(number)
            except (AssertionError, DynamoDbError) as error:
                failures[type(error).__name__] += 1

    await asyncio.gather(*(send_in_turn() for _ in range(clients)))
    return sent, failures.total(), time.perf_counter() - started_at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200, help="requests of each line")
    parser.add_argument(
        "--directory", type=Path, help="where dynoxide has its files. In /dev/shm it waits for no disk."
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32], help="numbers of concurrent clients")
    arguments = parser.parse_args()
    with _running_stack(arguments.directory) as stack, Path(os.devnull).open("w") as no_log:
        log.configure(as_json=True, file=no_log)
        asyncio.run(_measure(stack, arguments.requests, arguments.clients))


@contextmanager
def _running_stack(parent: Path | None) -> Iterator[ServiceStack]:
    with TemporaryDirectory(dir=parent) as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        issuer = DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()))
        stack = ServiceStack.start(engine.url, "contended", issuer, PartitionLimits())
        try:
            yield stack
        finally:
            stack.close()
            engine.stop()


async def _measure(stack: ServiceStack, requests: int, clients: Sequence[int]) -> None:
    tenant = await stack.new_tenant()
    counter = CallCounter(stack.connections.tables.client)
    server = stack.serve(tables=replace(stack.connections.tables, client=counter))
    client = replace(stack.api_client(tenant), application=server)
    measurement = Measurement(counter, requests, clients)
    product, users = await _product(client), await _users(stack, tenant, requests)
    print(f"{'':<26}{'clients':>8}{'requests/s':>12}{'CPU ms':>8}{'failed':>8}  calls of one request; all errors")

    async def count_views(_: int) -> Request:
        return lambda _: _execute(client, COUNT_VIEW, id=product)

    async def fill_one_group(_: int) -> Request:
        group = await _group(client)
        return lambda number: _execute(client, ADD_MEMBER, group=group, user=users[number])

    async def fill_many_groups(group_count: int) -> Request:
        groups = [await _group(client) for _ in range(group_count)]
        return lambda number: _execute(client, ADD_MEMBER, group=groups[number % group_count], user=users[number])

    engine = DirectEngine.connect(stack, tenant)
    for name, request_for in (
        ("countProductView", count_views),
        ("addMember, one group", fill_one_group),
        ("addMember, many groups", fill_many_groups),
    ):
        await measurement.run(name, request_for)
        await replace(measurement, counter=engine.counter).run("  to the engine", engine.replay(counter.transactions))
    engine.counter.close()


@dataclass(frozen=True)
class DirectEngine:
    """Sends transactions of one tenant to the engine, without the gate, for other tenants with the same items."""

    stack: ServiceStack
    tenant: TenantId
    counter: CallCounter

    @classmethod
    def connect(cls, stack: ServiceStack, tenant: TenantId) -> "DirectEngine":
        options = replace(connection_options(stack.settings), endpoint_url=stack.engine_url)
        return cls(stack, tenant, CallCounter(DynamoDbClient(options)))

    def replay(self, transactions: Sequence[Mapping[str, Any]]) -> Callable[[int], Awaitable[Request]]:
        """Returns a function that copies the items to a new tenant, and then sends the transactions for it."""
        actions = [self._without_conditions(transaction["TransactItems"]) for transaction in transactions]

        async def request_for(_: int) -> Request:
            copy = await self.stack.new_tenant()
            items = items_in_both_tables(self.stack, self.tenant)[0].values()
            puts = [{"Put": {"TableName": self.stack.tables.name, "Item": item}} for item in items]
            for batch in chunks(puts, MAX_TRANSACTION_WRITES):
                await self._transact(self._renamed(batch, copy))
            renamed = [self._renamed(one, copy) for one in actions]
            return lambda number: self._transact(renamed[number % len(renamed)])

        return request_for

    def _without_conditions(self, actions: Sequence[Any]) -> list[Any]:
        copies = DualTransaction.for_tables(actions, self.stack.tables.name, range(len(actions))).copies
        return list(copies.values())

    def _renamed(self, actions: Sequence[Any], other: TenantId) -> list[Any]:
        text = json.dumps(actions).replace(tenant_key_prefix(self.tenant), tenant_key_prefix(other))
        renamed: list[Any] = json.loads(text)
        return renamed

    async def _transact(self, actions: Sequence[Any]) -> None:
        parameters = {"TransactItems": actions, "ClientRequestToken": uuid.uuid4().hex}
        await self.counter.call("TransactWriteItems", parameters, ENGINE_CREDENTIALS)


async def _execute(client: ApiClient, query: str, **variables: Any) -> None:
    await client.data(query, **variables)


async def _product(client: ApiClient) -> str:
    await client.data(CREATE_CATEGORY)
    product = {"sku": "X", "name": "X", "price": "1.00", "category": ["x"]}
    return str((await client.data(CREATE_PRODUCT, input=product))["createProduct"]["id"])


async def _group(client: ApiClient) -> str:
    return str((await client.data(CREATE_GROUP))["createGroup"]["id"])


async def _users(stack: ServiceStack, tenant: TenantId, count: int) -> list[str]:
    users = UserRepository(stack.table(tenant))
    return [(await users.create(email=f"{n}@x.example", name="A", role=Role.MEMBER)).id for n in range(count)]


if __name__ == "__main__":
    main()
