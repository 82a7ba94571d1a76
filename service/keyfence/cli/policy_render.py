"""`keyfence policy render`; deployment options."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from keyfence.errors import BadInput
from keyfence_iam.deployment import Deployment

_PANEL = "Where it is deployed"


def _option(metavar: str, text: str) -> object:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=_PANEL)


Account = Annotated[str, _option("ID", "The AWS account, twelve digits.")]
Region = Annotated[str, _option("REGION", "The region of the table.")]
TableName = Annotated[str, _option("NAME", "The table.")]
RolePrefix = Annotated[str, _option("PREFIX", "What the names of all roles begin with.")]
Partition = Annotated[str, _option("NAME", "aws, aws-cn or aws-us-gov.")]

USUAL = Deployment()

_SHAPES = {
    "account": r"[0-9]{12}",
    "region": r"[a-z]{2,}(-[a-z]+)+-[0-9]+",
    "table": r"[A-Za-z0-9_.-]{3,255}",
    "role_prefix": r"[\w+=,.@-]{0,48}",
    "partition": r"aws(-[a-z]+)*",
}


def deployment(*, account: str, region: str, table: str, role_prefix: str, partition: str) -> Deployment:
    """What goes into ARNs is checked first: a wildcard in a table's name would open other tables."""
    made = Deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    for name, shape in _SHAPES.items():
        if not re.fullmatch(shape, getattr(made, name), re.ASCII):
            raise BadInput(f"--{name.replace('_', '-')} {getattr(made, name)!r} cannot be used in an ARN.")
    return made


Role = Annotated[str | None, typer.Argument(metavar="ROLE", help="One role; every role if left out.")]
Trust = Annotated[bool, typer.Option("--trust", help="Who may become the role, instead of what it may do.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write ROLE.json, ROLE.trust.json, ROLE.boundary.json here."),
]


def render(
    role: Role = None,
    trust: Trust = False,
    out: Out = None,
    account: Account = USUAL.account,
    region: Region = USUAL.region,
    table: TableName = USUAL.table,
    role_prefix: RolePrefix = USUAL.role_prefix,
    partition: Partition = USUAL.partition,
) -> None:
    """Print the policies of the roles as IAM takes them, or write them into files.

    [bold]Example:[/bold] keyfence policy render tenant-read

    [bold]Example:[/bold] keyfence policy render tenant-write --trust --account 123456789012

    [bold]Example:[/bold] keyfence policy render --out iam/rendered
    """
    from keyfence_iam.roles.rendering import policy_files

    where = deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    rendered = policy_files(where, *([known(role)] if role else []))
    if out is not None:
        _write(out, rendered)
    elif role is not None:
        typer.echo(rendered[f"{role}.trust.json" if trust else f"{role}.json"], nl=False)
    else:
        typer.echo(_together(rendered, trust=trust))


def known(role: str) -> str:
    from keyfence_iam.roles import ROLES

    if role not in ROLES:
        raise BadInput(f"{role!r} is not a role: there are {', '.join(ROLES)}.")
    return role


def _together(rendered: Mapping[str, str], *, trust: bool) -> str:
    """One object with every role's policy under its name."""
    import json

    kind = "trust.json" if trust else "json"
    named = {name.partition(".")[::2]: text for name, text in rendered.items()}
    policies = {role: json.loads(text) for (role, ending), text in named.items() if ending == kind}
    return json.dumps(policies, indent=2, ensure_ascii=False)


def _write(directory: Path, rendered: Mapping[str, str]) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in rendered.items():
            (directory / name).write_text(text)
    except OSError as error:
        raise BadInput(f"{directory} cannot be written: {error.strerror}.") from error
    typer.echo(f"Wrote {len(rendered)} policies into {directory}.")
