"""A process that continues a reshard and is killed at one of its calls."""

import asyncio
import json
import sys
from typing import Any

from keyfence.app.command_connections import connect_migrator
from keyfence.app.local_development import aws_access
from keyfence.settings import Settings
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles import ROLES
from tests.failures.crashing_client import CrashingClient, kill_process
from tests.system.jobs.offboarding_run import with_client
from tests.system.jobs.reshard_run import ReshardRun


def main(given: dict[str, Any]) -> None:
    settings = Settings(
        table=given["table"],
        region=Deployment().region,
        endpoint_url=given["gate"],
        sts_endpoint_url=given["gate"],
        cursor_keys=("dev-" + "A" * 43,),
    )
    sessions = SessionIssuer(
        Account.from_definitions(ROLES, Deployment(table=given["table"])), bytes.fromhex(given["key"])
    )
    with connect_migrator(aws_access(settings, sessions)) as by:
        killed = with_client(by, CrashingClient(by.tables.client, given["at"], "after", kill_process))
        asyncio.run(_carry_on(ReshardRun(by=killed), given))


async def _carry_on(resharder: ReshardRun, given: dict[str, Any]) -> None:
    found = await resharder.means().store.get(given["job"])
    await resharder.run(found, page_size=given["page"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
