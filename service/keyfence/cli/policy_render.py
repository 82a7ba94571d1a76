"""`keyfence policy render`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from keyfence.cli.deployment_options import (
    DEFAULTS,
    AccountOption,
    PartitionOption,
    RegionOption,
    RolePrefixOption,
    TableNameOption,
    deployment_from_options,
)
from keyfence.errors import BadInput

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RoleArgument = Annotated[str | None, typer.Argument(metavar="ROLE", help="The role. Default: all roles.")]
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
    """Print the IAM policies of the roles that Keyfence needs, or write them into files.

    The command does not call AWS. Policies are always JSON. With --out, --json prints the paths of the written files.

    [bold]Example:[/bold] keyfence policy render tenant-read

    [bold]Example:[/bold] keyfence policy render tenant-write --trust --account 123456789012

    [bold]Example:[/bold] keyfence policy render --out iam/rendered
    """
    from keyfence_iam.roles.policy_files import policy_files

    deployment = deployment_from_options(
        account=account, region=region, table=table, role_prefix=role_prefix, partition=partition
    )
    files = policy_files(deployment, *([existing_role(role)] if role else []))
    if out is not None:
        _write_files(out, files, as_json=as_json)
    elif role is not None:
        typer.echo(files[f"{role}.trust.json" if trust else f"{role}.json"], nl=False)
    else:
        typer.echo(_policies_by_role(files, trust=trust))


def existing_role(role: str) -> str:
    """Returns the role. Raises BadInput if Keyfence has no role of this name."""
    from keyfence_iam.roles import ROLES

    if role not in ROLES:
        raise BadInput(f"{role!r} is not a role; the roles are {', '.join(ROLES)}.")
    return role


def _policies_by_role(files: Mapping[str, str], *, trust: bool) -> str:
    """Returns one JSON object with the policy of each role under the role's name."""
    import json

    wanted_suffix = "trust.json" if trust else "json"
    policies = {}
    for name, text in files.items():
        role, _, suffix = name.partition(".")
        if suffix == wanted_suffix:
            policies[role] = json.loads(text)
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
