"""Carries one reshard on in a process of its own, which is killed at one of its calls."""

import asyncio
import json
import sys
from typing import Any

from keyfence.app.commands import connect_migrator
from keyfence.app.local import aws_access
from keyfence.settings import Settings
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from tests.engine.offboarding_run import through
from tests.engine.reshard_run import Resharder
from tests.failures.crashing_client import Dying, be_killed


def main(given: dict[str, Any]) -> None:
    settings = Settings(
        table=given["table"],
        region=Deployment().region,
        endpoint_url=given["gate"],
        sts_endpoint_url=given["gate"],
        cursor_keys=("dev-" + "A" * 43,),
    )
    sessions = SessionIssuer(Account.of(Deployment(table=given["table"])), bytes.fromhex(given["key"]))
    with connect_migrator(aws_access(settings, sessions)) as by:
        killed = through(by, Dying(by.tables.client, given["at"], "after", be_killed))
        asyncio.run(_carry_on(Resharder(by=killed), given))


async def _carry_on(resharder: Resharder, given: dict[str, Any]) -> None:
    found = await resharder.means().records.get(given["migration"])
    await resharder.carry_on(found, page=given["page"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
