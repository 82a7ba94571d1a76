"""A process that continues a reshard and is crashing_migrator at one of its calls."""

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


def main(arguments: dict[str, Any]) -> None:
    settings = Settings(
        table=arguments["table"],
        region=Deployment().region,
        endpoint_url=arguments["gate"],
        sts_endpoint_url=arguments["gate"],
        cursor_keys=("dev-" + "A" * 43,),
    )
    sessions = SessionIssuer(
        Account.from_definitions(ROLES, Deployment(table=arguments["table"])), bytes.fromhex(arguments["key"])
    )
    with connect_migrator(aws_access(settings, sessions)) as migrator:
        crashing_migrator = with_client(
            migrator, CrashingClient(migrator.tables.client, arguments["call_number"], "after", kill_process)
        )
        asyncio.run(_continue_reshard(ReshardRun(migrator=crashing_migrator), arguments))


async def _continue_reshard(resharder: ReshardRun, arguments: dict[str, Any]) -> None:
    job = await resharder.job_resources().store.get(arguments["job"])
    await resharder.run(job, page_size=arguments["page"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
