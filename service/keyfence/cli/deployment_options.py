"""Options that describe a deployment, and checks of their values: account, region, table, role prefix, partition."""

import re
from typing import Annotated

import typer

from keyfence.errors import BadInput
from keyfence_iam.deployment import Deployment

DEFAULTS = Deployment()

_PANEL = "Deployment"


def _deployment_option(metavar: str, description: str) -> object:
    return typer.Option(metavar=metavar, help=description, rich_help_panel=_PANEL)


AccountOption = Annotated[str, _deployment_option("ID", "The AWS account, twelve digits.")]
RegionOption = Annotated[str, _deployment_option("REGION", "The region of the table.")]
TableNameOption = Annotated[str, _deployment_option("NAME", "The shared table.")]
RolePrefixOption = Annotated[str, _deployment_option("PREFIX", "The first characters of the names of all roles.")]
PartitionOption = Annotated[str, _deployment_option("NAME", "aws, aws-cn or aws-us-gov.")]

_RULES = {
    "account": ("twelve digits", r"[0-9]{12}"),
    "region": ("the name of a region, such as us-east-1", r"[a-z]{2,}(-[a-z]+)+-[0-9]+"),
    "table": ("3 to 255 letters, digits, '_', '.' and '-'", r"[A-Za-z0-9_.-]{3,255}"),
    "role_prefix": ("at most 48 letters, digits and characters of '_+=,.@-'", r"[\w+=,.@-]{0,48}"),
    "partition": ("aws, aws-cn or another partition of AWS", r"aws(-[a-z]+)*"),
}
"""For each option, a description and a pattern of its valid values."""


def check_deployment_options(**values: str) -> None:
    """Raises BadInput if a value must not be part of an ARN. The table `*`, for example, would match all tables."""
    for name, value in values.items():
        description, pattern = _RULES[name]
        if not re.fullmatch(pattern, value, re.ASCII):
            raise BadInput(f"--{name.replace('_', '-')} {value!r} must be {description}.")


def deployment_from_options(*, account: str, region: str, table: str, role_prefix: str, partition: str) -> Deployment:
    """Returns the deployment that the options describe. Raises BadInput if a value must not be part of an ARN."""
    check_deployment_options(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    return Deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
