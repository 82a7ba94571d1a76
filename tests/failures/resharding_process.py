"""A process that continues a reshard and is killed at one of its calls."""

import asyncio
import json
import sys
from typing import Any

from keyfence.app.command_connections import connect_migrator
from tests.failures.crashing_client import CrashingClient, kill_process
from tests.failures.gate_connection import gate_access
from tests.system.jobs.offboarding_run import with_client
from tests.system.jobs.reshard_run import ReshardRun


def main(arguments: dict[str, Any]) -> None:
    with connect_migrator(gate_access(arguments)) as migrator:
        crashing_migrator = with_client(
            migrator, CrashingClient(migrator.tables.client, arguments["call_number"], "after", kill_process)
        )
        asyncio.run(_continue_reshard(ReshardRun(migrator=crashing_migrator), arguments))


async def _continue_reshard(resharder: ReshardRun, arguments: dict[str, Any]) -> None:
    job = await resharder.job_resources().store.get(arguments["job"])
    await resharder.run(job, page_size=arguments["page"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
