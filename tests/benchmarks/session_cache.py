"""Measures the CPU time of getting a session from the cache, and the time of getting a new one from a gate.

Run: uv run python -m tests.benchmarks.session_cache [--times 20000]
"""

import argparse
import asyncio
import time
from itertools import cycle

from keyfence.local.role_credentials import boto_session_for
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
from tests.benchmarks.cpu_time import ROUNDS, async_cpu_microseconds, cpu_microseconds

TENANTS = [TenantId(f"tenant-{number}") for number in range(10_000)]
SESSION_SECONDS = 900


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20_000, help="how often a cached session is requested")
    asyncio.run(_measure(parser.parse_args().times))


async def _measure(calls: int) -> None:
    cache = SessionCache(_credentials_without_sts, budget=call_budget(1e9))
    sources = [TenantCredentials(cache).for_tenant(tenant, may_write=False) for tenant in TENANTS]
    for get_credentials in sources:
        await get_credentials()
    sources_in_turn = cycle(sources)

    async def next_tenant() -> object:
        return await next(sources_in_turn)()

    rows = {
        "a cached session of one tenant": await async_cpu_microseconds(sources[0], calls),
        f"a cached session of {len(TENANTS):,} tenants in turn": await async_cpu_microseconds(next_tenant, calls),
        f"a search for sessions to refresh in {len(TENANTS):,}": cpu_microseconds(cache.refresh_due_sessions, ROUNDS),
        "a new session from the STS of a gate (elapsed time)": _new_session_microseconds(200),
    }
    for name, microseconds in rows.items():
        print(f"{name:<55}{microseconds:>10.1f} µs")
    cache.close()


def _new_session_microseconds(sessions: int) -> float:
    account = Account.from_definitions(ROLES, Deployment())
    with Gate.start(engine_url="http://127.0.0.1:9", account=account, key=new_gate_key()) as gate:
        session = boto_session_for("service-base", gate.session_issuer)
        sts = StsClient.connect(
            session, account.role_arn_prefix, Deployment().table, region="us-east-1", endpoint_url=gate.url
        )
        specs = [tenant_session(tenant, may_write=True) for tenant in TENANTS[:sessions]]
        sts(specs[0], SESSION_SECONDS)
        start = time.perf_counter()
        for spec in specs:
            sts(spec, SESSION_SECONDS)
        return (time.perf_counter() - start) / sessions * 1e6


def _credentials_without_sts(spec: SessionSpec, _: int) -> Credentials:
    return Credentials(f"{spec.role}-{spec.tenant}", "secret", "token")


if __name__ == "__main__":
    main()
