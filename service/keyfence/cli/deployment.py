"""The options that say where Keyfence is deployed."""

import re
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
