"""One tenant is restored from a backup table, as the operations page describes."""

import asyncio
from pathlib import Path
from typing import Any

from keyfence.app.domain_loading import load_domains
from keyfence.local import gate_access
from keyfence.local.data_directory import INDEX_KEY_FILE, data_directory, gate_key
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.names import PROVISIONER
from keyfence_iam.tenant import TenantId
from tests.data.full_tenant import FullTenant, stored_items
from tests.fakes.fences import INDEX_KEY
from tests.stack import ServiceStack
from tests.system.commands.command_runner import invoke


def start_gate(stack: ServiceStack, table: str) -> Gate:
    """Starts a gate with roles for one table. A directory with the table's name has its key and the index key."""
    data = data_directory(Path(table))
    (data / INDEX_KEY_FILE).write_text(INDEX_KEY)
    return Gate.start(
        engine_url=stack.engine_url,
        account=Account.from_definitions(ROLES, Deployment(table=table)),
        key=gate_key(data),
    )


def table_name(gate: Gate) -> str:
    """Returns the table to which the gate's roles give access."""
    (statement, *_) = gate.account.get_role("control-plane").identity_policies[0].statements
    return statement.resources[0].rpartition("/")[2]


def run(gate: Gate, *arguments: str) -> tuple[int, str]:
    table = table_name(gate)
    variables = {"KEYFENCE_TABLE": table, "KEYFENCE_ENDPOINT_URL": gate.url, "KEYFENCE_DATA": table}
    result = invoke(*arguments, **variables)
    return result.exit_code, result.stderr


def create_table(gate: Gate) -> None:
    provisioner = gate_access.role_session(gate.session_issuer, PROVISIONER).credentials
    options = ConnectionOptions(region="us-east-1", endpoint_url=gate.url)
    TableAdmin.connect(options, table_name(gate), load_domains().entities.projections, provisioner).create()


def all_items(stack: ServiceStack) -> list[dict[str, Any]]:
    pages = stack.engine_client().get_paginator("scan").paginate(TableName=stack.settings.table)
    return [dict(item) for page in pages for item in page["Items"]]


def delete_all(stack: ServiceStack, tenant: TenantId) -> None:
    for item in all_items(stack):
        if item["PK"]["S"].startswith(f"TENANT#{tenant}#"):
            key = {"PK": item["PK"], "SK": item["SK"]}
            stack.engine_client().delete_item(TableName=stack.settings.table, Key=key)


def test_one_tenants_data_is_restored_and_no_other_tenant_changes(stack: ServiceStack) -> None:
    tenant, other = asyncio.run(stack.new_tenant()), asyncio.run(stack.new_tenant())
    for id in (tenant, other):
        asyncio.run(FullTenant.on(stack.table(id)).fill())
    before = stored_items(stack, tenant, other)
    with (
        start_gate(stack, stack.settings.table) as original_gate,
        start_gate(stack, f"{stack.settings.table}-restored") as backup_gate,
    ):
        create_table(backup_gate)
        for item in all_items(stack):
            stack.engine_client().put_item(TableName=table_name(backup_gate), Item=item)
        delete_all(stack, tenant)
        assert run(backup_gate, "export", "--tenant", tenant, "--out", "lines")[0] == 0
        assert run(original_gate, "import", "lines", "--tenant", tenant)[0] == 0
        assert stored_items(stack, tenant, other) == before


def test_a_suspended_tenant_cannot_be_imported_into(stack: ServiceStack) -> None:
    tenant = asyncio.run(stack.new_tenant())
    Path("lines").write_text('{"type": "category", "path": ["office"], "createdAt": "2026-11-02T09:30:00Z"}\n')
    with start_gate(stack, stack.settings.table) as original_gate:
        assert run(original_gate, "tenant", "suspend", tenant, "--reason", "unpaid")[0] == 0
        assert run(original_gate, "import", "lines", "--tenant", tenant)[0] == 1
        assert run(original_gate, "tenant", "resume", tenant)[0] == 0
        assert run(original_gate, "import", "lines", "--tenant", tenant)[0] == 0
