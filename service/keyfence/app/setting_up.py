"""The table and the demo tenants on a local engine."""

import asyncio
from collections.abc import Callable

from keyfence.app.connections import local_tables, local_vending, local_wire
from keyfence.local.demo.load import load_demo
from keyfence.settings import Settings
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import PROVISIONER


async def prepare_table(settings: Settings, sessions: SessionIssuer, tell: Callable[[str], None]) -> None:
    """The table and the demo tenants on a local engine, through its gate."""
    tell("creating the table")
    await asyncio.to_thread(create_table, settings, sessions)
    vending = local_vending(settings, sessions)
    handles = local_tables(settings, vending)
    await load_demo(handles, tell)
    handles.client.close()
    vending.close()


def create_table(settings: Settings, sessions: SessionIssuer) -> None:
    """Create the table as the one role that may, or find it as it would be created."""
    credentials = sessions.issue_service_session(PROVISIONER).credentials
    administration = TableAdmin.connect(local_wire(settings), settings.table, credentials)
    administration.create()
    administration.check()
