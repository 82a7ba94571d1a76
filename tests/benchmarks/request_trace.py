"""Counts the Python calls and the files of two requests: a query for a customer's orders, and createCustomer.

Run: uv run python -m tests.benchmarks.request_trace [--json] [--files]

Both requests are repeated before, so that the caches are full. A change of file is a call of a function that is in
another file than the function called before. Only functions of keyfence and keyfence_iam count, and only in the thread
of the event loop. The gate and the engine run in other threads and do not count.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

import keyfence
import keyfence_iam
from keyfence import log
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from tests.engines import shared_cache
from tests.stack import ApiClient, ServiceStack

PACKAGES = tuple(str(Path(str(package.__file__)).parent) + "/" for package in (keyfence, keyfence_iam))
ORDERS = 5
WARM_UP_REQUESTS = 3
"""Requests that fill the caches before the request that is traced."""

CREATE_CUSTOMER = "mutation($input: CreateCustomerInput!) { createCustomer(input: $input) { id } }"
CREATE_CATEGORY = 'mutation { createCategory(path: ["lamps"]) { path } }'
CREATE_PRODUCT = (
    'mutation { createProduct(input: {sku: "S1", name: "Lamp", price: "10.00", category: ["lamps"]}) { id } }'
)
PLACE_ORDER = """mutation($customer: ID!, $product: ID!) {
  placeOrder(input: {customerId: $customer, region: "eu", items: [{productId: $product, quantity: 1}]}) { id } }"""
QUERY = """query($id: ID!) {
  customer(id: $id) { name orders(first: 20) { edges { cursor node { id } } pageInfo { hasNextPage } } } }"""


@dataclass
class Trace:
    """The calls of one request in their order, each with its file and function. Used as a profile function."""

    calls: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            self.calls.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    def counts(self) -> dict[str, int]:
        files = [file for file, _ in self.calls]
        changes = sum(before != after for before, after in pairwise(files))
        return {"files": len(set(files)), "changesOfFile": changes, "calls": len(files)}

    def by_file(self) -> list[tuple[str, int]]:
        return Counter(_short_path(file) for file, _ in self.calls).most_common()

    def by_function(self) -> list[tuple[str, int]]:
        return Counter(f"{_short_path(file)}:{name}" for file, name in self.calls).most_common()


@contextmanager
def tracing() -> Iterator[Trace]:
    """Records all calls of the block in a Trace."""
    trace = Trace()
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--files", action="store_true", help="also print the calls by file and by function")
    arguments = parser.parse_args()
    log.configure(as_json=True, file=Path("/dev/null").open("w"))  # noqa: SIM115
    with TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), lambda _: None, find_or_fetch(shared_cache(), print))
        try:
            traces = asyncio.run(_traces(engine.url))
        finally:
            engine.stop()
    counts = {name: trace.counts() for name, trace in traces.items()}
    if arguments.json:
        print(json.dumps(counts))
        return
    for name, trace in traces.items():
        print(f"{name}: " + ", ".join(f"{count} {label}" for label, count in counts[name].items()))
        if arguments.files:
            for line, count in [*trace.by_file(), ("", 0), *trace.by_function()]:
                print(f"  {count:5} {line}")


async def _traces(engine_url: str) -> dict[str, Trace]:
    stack = ServiceStack.start(engine_url, "traced", DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
    session = stack.api_client(await stack.new_tenant("acme"))
    customer = (await session.data(CREATE_CUSTOMER, input=_customer(0)))["createCustomer"]["id"]
    await session.data(CREATE_CATEGORY)
    product = (await session.data(CREATE_PRODUCT))["createProduct"]["id"]
    for _ in range(ORDERS):
        await session.data(PLACE_ORDER, customer=customer, product=product)
    inputs = [{"input": _customer(number)} for number in range(1, WARM_UP_REQUESTS + 2)]
    traces = {
        "query": await _traced(session, QUERY, *[{"id": customer}] * (WARM_UP_REQUESTS + 1)),
        "createCustomer": await _traced(session, CREATE_CUSTOMER, *inputs),
    }
    stack.close()
    return traces


async def _traced(session: ApiClient, query: str, *variables: dict[str, Any]) -> Trace:
    """Runs the query once with each set of variables, and traces the last run."""
    for earlier in variables[:-1]:
        await session.data(query, **earlier)
    with tracing() as trace:
        await session.data(query, **variables[-1])
    return trace


def _customer(number: int) -> dict[str, str]:
    return {"name": f"Customer {number}", "email": f"{number}@x.example"}


def _short_path(file: str) -> str:
    return file.rsplit("/service/", maxsplit=1)[-1].rsplit("/iam/", maxsplit=1)[-1]


if __name__ == "__main__":
    main()
