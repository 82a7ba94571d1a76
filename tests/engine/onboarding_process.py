"""Onboards one tenant at a gate in a process of its own, which is killed at one of its calls."""

import asyncio
import json
import sys
from dataclasses import replace
from typing import Any

from iam.boundary import tenant_id
from iam.deployment import Deployment
from iam.gate.account import Account
from iam.gate.sessions import Sessions
from service import app
from service.operations.application import Application
from service.operations.onboarding import Onboarding
from service.settings import Settings
from service.store.tables import Tables
from service.tenancy.quotas import Tier
from service.tenancy.register import Register
from tests.engine.dying import Dying, be_killed


def application(id: str, jwks: dict[str, Any]) -> Application:
    return Application(
        id=tenant_id(id),
        name="A Shop",
        tier=Tier.STANDARD,
        owner_email=f"owner@{id}.example",
        owner_name="First Owner",
        issuer=f"https://id.{id}.example",
        jwks=jwks,
    )


def onboarding(tables: Tables, settings: Settings) -> Onboarding:
    return app.onboarding(settings, Register(tables.control(writes=True), "an-operator"), tables)


def main(given: dict[str, Any]) -> None:
    settings = Settings(
        table=given["table"],
        region=Deployment().region,
        endpoint_url=given["gate"],
        sts_endpoint_url=given["gate"],
        cursor_keys=("dev-" + "A" * 43,),
    )
    sessions = Sessions(Account.of(Deployment(table=given["table"])), bytes.fromhex(given["key"]))
    tables = app.local_tables(settings, app.local_vending(settings, sessions))
    killed = replace(tables, client=Dying(tables.client, given["at"], given["moment"], be_killed))
    asyncio.run(onboarding(killed, settings)(application(given["id"], given["jwks"])))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
