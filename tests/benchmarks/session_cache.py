"""Measures the CPU time of getting a session: from the cache, and new from the STS of a gate.

Run: uv run python -m tests.benchmarks.session_cache [--times 20000]
"""

import argparse
import asyncio
import time

from keyfence.local.role_credentials import boto_session_for
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.credentials import TenantCredentials
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session_token import new_gate_key
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import SessionSpec, tenant_session
from keyfence_iam.sts.sts_client import StsClient
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget

TENANTS = [TenantId(f"tenant-{number}") for number in range(10_000)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20_000, help="how often a session in hand is asked for")
    asyncio.run(_measure(parser.parse_args().times))


async def _measure(times: int) -> None:
    vending = SessionCache(_at_once, budget=call_budget(1e9))
    handles = [TenantCredentials(vending).for_tenant(tenant, writes=False) for tenant in TENANTS]
    for handle in handles:
        await handle()
    one = await _cpu(handles[:1], times)
    many = await _cpu(handles, times)
    print(f"{'a session in hand, of one tenant':<50}{one:>10.1f} µs")
    print(f"{f'a session in hand, of {len(TENANTS):,} tenants in turn':<50}{many:>10.1f} µs")
    print(f"{f'a sweep over {len(TENANTS):,} sessions':<50}{_sweep(vending):>10.1f} µs")
    print(f"{'a new session through the STS of a gate (elapsed)':<50}{_anew(200):>10.1f} µs")
    vending.close()


async def _cpu(handles: list[CredentialSource], times: int) -> float:
    best = []
    for _ in range(5):
        start = time.process_time_ns()
        for number in range(times):
            await handles[number % len(handles)]()
        best.append((time.process_time_ns() - start) / times / 1000)
    return min(best)


def _sweep(vending: SessionCache) -> float:
    best = []
    for _ in range(5):
        start = time.process_time_ns()
        vending.refresh_due()
        best.append((time.process_time_ns() - start) / 1000)
    return min(best)


def _anew(times: int) -> float:
    account = Account.from_definitions(ROLES, Deployment())
    with Gate.start(engine_url="http://127.0.0.1:9", account=account, key=new_gate_key()) as gate:
        session = boto_session_for("service-base", gate.sessions)
        sts = StsClient.connect(
            session, account.role_arn_prefix, Deployment().table, region="us-east-1", endpoint_url=gate.url
        )
        wanted = [tenant_session(tenant, writes=True) for tenant in TENANTS[:times]]
        sts(wanted[0], 900)
        start = time.perf_counter()
        for one in wanted:
            sts(one, 900)
        return (time.perf_counter() - start) / times * 1e6


def _at_once(wanted: SessionSpec, _: int) -> Credentials:
    return Credentials(f"{wanted.role}-{wanted.tenant}", "secret", "token")


if __name__ == "__main__":
    main()
