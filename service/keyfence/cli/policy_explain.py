"""keyfence policy explain: what a role's policy decides on a call, statement by statement."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.deployment import USUAL, Account, Partition, Region, RolePrefix, TableName, deployment
from keyfence.cli.policy_render import known
from keyfence.errors import BadInput
from keyfence_iam.boundary import BadTenantId, tenant_id

if TYPE_CHECKING:
    from keyfence.cli.policy_verdict import Verdict

Role = Annotated[str, typer.Option(metavar="ROLE", help="Whose session makes the call, such as tenant-read.")]
Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant that the session is tagged with.")]
Call = Annotated[
    str, typer.Option(metavar="JSON", help='The operation and its parameters: {"GetItem": {...}}; - is standard input.')
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON to compute with, instead of text to read.")]


def explain(
    role: Role,
    call: Call,
    tenant: Tenant = None,
    as_json: AsJson = False,
    account: Account = USUAL.account,
    region: Region = USUAL.region,
    table: TableName = USUAL.table,
    role_prefix: RolePrefix = USUAL.role_prefix,
    partition: Partition = USUAL.partition,
) -> None:
    """Say whether a call is allowed or denied, and why: of every statement, what matched and what did not.

    A call without a TableName is made on the deployment's table. Nothing is asked of AWS.

    [bold]Example:[/bold] keyfence policy explain --role tenant-read --tenant acme --call '{"Scan": {}}'

    [bold]Example:[/bold] keyfence policy explain --role tenant-write --tenant acme
    --call '{"GetItem": {"Key": {"PK": {"S": "TENANT#globex#USER#1"}, "SK": {"S": "PROFILE"}}}}'

    [bold]Example:[/bold] keyfence policy explain --role migrator --call '{"Scan": {"TableName": "keyfence-silo-acme"}}'
    """
    import json

    from keyfence.cli.policy_verdict import Asker, verdict

    where = deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    operation, parameters = _call(call)
    asker = Asker(role=known(role), tenant=_tenant(tenant), deployment=where)
    decided = verdict(asker, operation, parameters)
    if as_json:
        typer.echo(json.dumps(decided.as_json(), indent=2))
    else:
        _print(decided)


def _call(text: str) -> tuple[str, dict[str, Any]]:
    """Read as strictly as the gate reads a body: what two readers could take for two calls is none."""
    import sys

    from keyfence_iam.gate.body import parameters

    try:
        read = parameters((sys.stdin.read() if text == "-" else text).encode())
    except ValueError as error:
        raise BadInput(f"--call cannot be read: {error}.") from error
    if len(read) != 1 or not all(isinstance(value, dict) for value in read.values()):
        raise BadInput('--call must be one operation with its parameters, such as {"Query": {...}}.')
    return next(iter(read.items()))


def _tenant(text: str | None) -> str | None:
    try:
        return None if text is None else tenant_id(text)
    except BadTenantId as error:
        raise BadInput(f"--tenant {text!r} is not a tenant id: {error}.") from error


def _print(decided: "Verdict") -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for line in decided.lines():
        console.print(line)
