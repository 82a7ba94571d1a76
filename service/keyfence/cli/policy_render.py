"""`keyfence policy render`, and the options that describe a deployment."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from keyfence.errors import BadInput
from keyfence_iam.deployment import Deployment

DEFAULTS = Deployment()

_PANEL = "Deployment"
_PATTERNS = {
    "account": r"[0-9]{12}",
    "region": r"[a-z]{2,}(-[a-z]+)+-[0-9]+",
    "table": r"[A-Za-z0-9_.-]{3,255}",
    "role_prefix": r"[\w+=,.@-]{0,48}",
    "partition": r"aws(-[a-z]+)*",
}


def _option(metavar: str, text: str) -> object:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=_PANEL)


AccountOption = Annotated[str, _option("ID", "The AWS account, twelve digits.")]
RegionOption = Annotated[str, _option("REGION", "The region of the table.")]
TableNameOption = Annotated[str, _option("NAME", "The table.")]
RolePrefixOption = Annotated[str, _option("PREFIX", "The beginning of the names of all roles.")]
PartitionOption = Annotated[str, _option("NAME", "aws, aws-cn or aws-us-gov.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RoleArgument = Annotated[str | None, typer.Argument(metavar="ROLE", help="One role; all roles if left out.")]
TrustOption = Annotated[bool, typer.Option("--trust", help="Print trust policies instead of identity policies.")]
OutOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write ROLE.json, ROLE.trust.json and ROLE.boundary.json into this directory."),
]


def render(
    role: RoleArgument = None,
    trust: TrustOption = False,
    out: OutOption = None,
    as_json: JsonOption = False,
    account: AccountOption = DEFAULTS.account,
    region: RegionOption = DEFAULTS.region,
    table: TableNameOption = DEFAULTS.table,
    role_prefix: RolePrefixOption = DEFAULTS.role_prefix,
    partition: PartitionOption = DEFAULTS.partition,
) -> None:
    """Print the policies of the roles as IAM accepts them, or write them into files.

    The policies are JSON with and without --json. With --out, --json prints the paths of the files as JSON.

    [bold]Example:[/bold] keyfence policy render tenant-read

    [bold]Example:[/bold] keyfence policy render tenant-write --trust --account 123456789012

    [bold]Example:[/bold] keyfence policy render --out iam/rendered
    """
    from keyfence_iam.roles.rendering import policy_files

    where = deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    files = policy_files(where, *([existing_role(role)] if role else []))
    if out is not None:
        _write_files(out, files, as_json=as_json)
    elif role is not None:
        typer.echo(files[f"{role}.trust.json" if trust else f"{role}.json"], nl=False)
    else:
        typer.echo(_by_role(files, trust=trust))


def deployment(*, account: str, region: str, table: str, role_prefix: str, partition: str) -> Deployment:
    """Return a deployment. Raises BadInput if a value does not fit into an ARN: `*` as a table name would match all."""
    made = Deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    for name, pattern in _PATTERNS.items():
        if not re.fullmatch(pattern, getattr(made, name), re.ASCII):
            raise BadInput(f"--{name.replace('_', '-')} {getattr(made, name)!r} cannot be used in an ARN.")
    return made


def existing_role(role: str) -> str:
    from keyfence_iam.roles import ROLES

    if role not in ROLES:
        raise BadInput(f"{role!r} is not a role; the roles are {', '.join(ROLES)}.")
    return role


def _by_role(files: Mapping[str, str], *, trust: bool) -> str:
    """Return one JSON object with the policy of each role under its name."""
    import json

    suffix = "trust.json" if trust else "json"
    by_name = {name.partition(".")[::2]: text for name, text in files.items()}
    policies = {role: json.loads(text) for (role, ending), text in by_name.items() if ending == suffix}
    return json.dumps(policies, indent=2, ensure_ascii=False)


def _write_files(directory: Path, files: Mapping[str, str], *, as_json: bool) -> None:
    import json

    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text)
    except OSError as error:
        raise BadInput(f"{directory} cannot be written: {error.strerror}.") from error
    if as_json:
        typer.echo(json.dumps({"files": [str(directory / name) for name in files]}, indent=2))
    else:
        typer.echo(f"Wrote {len(files)} policies into {directory}.")
