"""Measures the latency of a quiet tenant beside a tenant that sends expensive requests which no cache knows.

For each of the ten shapes in `hostile_documents`, and for all of them in turn, a round measures the quiet tenant alone
and beside the hostile tenant. The output has the medians of all rounds, and what the hostile tenant got.

Run: uv run python -m tests.benchmarks.hostile_tenant [--tier STANDARD] [--rates 4,40,400] [--rounds 3] [--seconds 8]
"""

import argparse
import asyncio
from contextlib import suppress
from statistics import median
from time import thread_time

from keyfence.app.domain_loading import load_domains
from keyfence.app.process_tuning import tune_process
from keyfence.graphql.error_masking import InvalidRequest
from keyfence.graphql.executor import GraphQLExecutor
from keyfence.http.request_body import parse_body
from keyfence.tenancy.tier_quotas import TIER_QUOTAS, QuotaOverrides, Tier
from tests.benchmarks.hostile_documents import HOSTILE_BODIES
from tests.benchmarks.load_client import NONCE, LoadClient
from tests.benchmarks.neighbours import (
    NeighbourServer,
    local_stack,
    neighbour_server,
    override_quotas,
    print_row,
    tenant_with_users,
)
from tests.stack import ApiClient, ServiceStack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tier", type=Tier, default=Tier.STANDARD, help="the hostile tenant has the quotas of this tier"
    )
    parser.add_argument("--rates", default="4,40,400", help="requests a second of the hostile tenant")
    parser.add_argument("--shapes", default=",".join([*HOSTILE_BODIES, "all"]), help="names of shapes, or all in turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each phase of a round takes")
    arguments = parser.parse_args()
    _print_costs()
    with local_stack("hostile") as stack:
        sessions = asyncio.run(_tenants(stack, arguments.tier))
        tune_process()
        with neighbour_server(stack, sessions, arguments.seconds) as server:
            print_row(
                f"p99 of a quiet tenant, ms; {arguments.tier}", "alone", "beside", "ratio", "200/s", "400/s", "429/s"
            )
            for rate in map(int, arguments.rates.split(",")):
                for shape in arguments.shapes.split(","):
                    _measure(server, server.clients[1], shape, rate, arguments.rounds)


async def _tenants(stack: ServiceStack, tier: Tier) -> list[ApiClient]:
    quiet, hostile = [await tenant_with_users(stack, name) for name in ("quiet", "hostile")]
    quotas = TIER_QUOTAS[tier]
    overrides = QuotaOverrides(
        requests_per_second=quotas.requests_per_second,
        read_units_per_second=quotas.read_units_per_second,
        write_units_per_second=quotas.write_units_per_second,
        cpu_ms_per_second=quotas.cpu_ms_per_second,
    )
    await override_quotas(stack, hostile, overrides)
    return [quiet, hostile]


def _measure(server: NeighbourServer, hostile: LoadClient, shape: str, rate: int, count: int) -> None:
    bodies = list(HOSTILE_BODIES.values()) if shape == "all" else [HOSTILE_BODIES[shape]]
    rounds = server.measure_rounds(count, hostile, bodies, rate)
    alone, beside = (median(phase.quantile(0.99) for phase in phases) for phases in zip(*rounds, strict=True))
    ratio = median(one.p99_ratio for one in rounds)
    results = [one.beside.other_result for one in rounds]
    rates = (sum(one.statuses[status] for one in results) / count / server.seconds for status in (200, 400, 429))
    columns = (f"{alone * 1000:.1f}", f"{beside * 1000:.1f}", f"{ratio:.2f}", *(f"{one:.1f}" for one in rates))
    print_row(f"{shape}, {rate} requests a second", *columns)


def _print_costs() -> None:
    """Prints the CPU time of the server's event loop for reading one request of each shape."""
    executor = GraphQLExecutor(load_domains().schema)
    print_row("CPU time for reading one request", "ms")
    for shape, body in HOSTILE_BODIES.items():
        costs = []
        for number in range(5):
            new_body = body.replace(NONCE, f"{number:08}").encode()
            started_at = thread_time()
            with suppress(InvalidRequest):
                executor.prepare(parse_body(new_body), may_introspect=True)
            costs.append(thread_time() - started_at)
        print_row(shape, f"{min(costs) * 1000:.1f}")


if __name__ == "__main__":
    main()
