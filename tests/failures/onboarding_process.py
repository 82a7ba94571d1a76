"""A process that onboards one tenant and is killed at one of its calls."""

import asyncio
import json
import sys
from dataclasses import replace
from typing import Any

from keyfence.admin.context import AdminContextFactory
from keyfence.admin.onboarding import Onboarding, OnboardingRequest
from keyfence.app.aws_connections import Connections
from keyfence.store.table_handles import Tables
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import parse_tenant_id
from tests.failures.crashing_client import CrashingClient, kill_process
from tests.failures.gate_connection import gate_access


def onboarding_request(id: str, jwks: dict[str, Any]) -> OnboardingRequest:
    return OnboardingRequest(
        id=parse_tenant_id(id),
        name="A Shop",
        tier=Tier.STANDARD,
        owner_email=f"owner@{id}.example",
        owner_name="First Owner",
        issuer=f"https://id.{id}.example",
        jwks=jwks,
    )


def new_onboarding(tables: Tables, connections: Connections) -> Onboarding:
    factory = AdminContextFactory(
        settings=connections.settings, tables=tables, publish_suspensions=connections.publish_suspensions
    )
    return factory.new_onboarding(TenantRepository(tables.for_control_plane(may_write=True), "an-operator"))


def main(arguments: dict[str, Any]) -> None:
    connections = gate_access(arguments).connect()
    tables = connections.tables
    crashing_tables = replace(
        tables, client=CrashingClient(tables.client, arguments["call_number"], arguments["moment"], kill_process)
    )
    request = onboarding_request(arguments["id"], arguments["jwks"])
    asyncio.run(new_onboarding(crashing_tables, connections)(request))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
