"""Measures the latency of a quiet tenant, first alone and then next to a tenant far above its quota.

The output has the medians of all rounds. The last measurement is beside a noisy tenant without a quota, and shows the
harm that quotas prevent.

Run: uv run python -m tests.benchmarks.noisy_neighbour [--rounds 7] [--seconds 8] [--quota 20] [--times 20]
"""

import argparse
import asyncio
import os
from pathlib import Path
from statistics import median
from typing import Any

from keyfence import log
from keyfence.app.process_tuning import tune_process
from keyfence.tenancy.tier_quotas import QuotaOverrides
from tests.benchmarks.cpu_time import async_cpu_microseconds
from tests.benchmarks.graphql_request import post
from tests.benchmarks.neighbours import (
    QUIET_BODY,
    QUIET_REQUESTS_PER_SECOND,
    Phase,
    Round,
    local_stack,
    neighbour_server,
    override_quotas,
    print_row,
    tenant_with_users,
)
from tests.stack import ApiClient, ServiceStack
from tests.system.api.quota_server import QuotaServer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each phase of a round takes")
    parser.add_argument("--quota", type=int, default=20, help="the noisy tenant's requests a second")
    parser.add_argument("--times", type=int, default=20, help="how many times its quota the noisy tenant sends")
    arguments = parser.parse_args()
    rate = arguments.quota * arguments.times
    with local_stack("noise") as stack:
        sessions = asyncio.run(_tenants(stack, arguments.quota))
        _print_rejection_cost(stack)
        tune_process()
        with neighbour_server(stack, sessions, arguments.seconds) as server:
            _, noisy, unlimited = server.clients
            rounds = server.measure_rounds(arguments.rounds, noisy, [QUIET_BODY], rate)
            _print_result(rounds, server.measure(unlimited, [QUIET_BODY], rate), arguments)


async def _tenants(stack: ServiceStack, quota: int) -> list[ApiClient]:
    """Returns the quiet tenant, the noisy tenant with a small quota, and a noisy tenant without a quota."""
    quiet, noisy, unlimited = [await tenant_with_users(stack, name) for name in ("quiet", "noisy", "noisy-free")]
    small_quota = QuotaOverrides(
        requests_per_second=quota, read_units_per_second=quota * 10, write_units_per_second=quota
    )
    await override_quotas(stack, noisy, small_quota)
    return [quiet, noisy, unlimited]


def _print_result(rounds: list[Round], beside_unlimited: Phase, arguments: Any) -> None:
    unlimited_round = Round(rounds[-1].alone, beside_unlimited)
    print_row(
        f"{QUIET_REQUESTS_PER_SECOND} requests a second of a quiet tenant", "p50 ms", "p99 ms", "ratio", "min", "max"
    )
    _print_latencies("alone", [Round(one.alone, one.alone) for one in rounds])
    _print_latencies("beside a tenant over its quota", rounds)
    _print_latencies("beside a tenant without a quota, once", [unlimited_round])
    print_row(
        f"{arguments.quota * arguments.times} requests a second, quota {arguments.quota}",
        "served/s",
        "rejected/s",
        "not sent/s",
    )
    _print_rates("a tenant over its quota", [one.beside for one in rounds], arguments.seconds)
    _print_rates("a tenant without a quota, once", [beside_unlimited], arguments.seconds)


def _print_latencies(name: str, rounds: list[Round]) -> None:
    p50, p99 = (median(one.beside.quantile(part) for one in rounds) * 1000 for part in (0.5, 0.99))
    ratios = [one.p99_ratio for one in rounds]
    print_row(name, f"{p50:.1f}", f"{p99:.1f}", *(f"{one:.2f}" for one in (median(ratios), min(ratios), max(ratios))))


def _print_rates(name: str, phases: list[Phase], seconds: float) -> None:
    results = [phase.other_result for phase in phases]
    totals = (
        sum(result.statuses[200] for result in results),
        sum(result.statuses[429] for result in results),
        sum(result.not_sent for result in results),
    )
    print_row(name, *(f"{total / len(phases) / seconds:.1f}" for total in totals))


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


if __name__ == "__main__":
    main()
