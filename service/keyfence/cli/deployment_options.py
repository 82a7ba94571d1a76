"""Checks of the options that describe a deployment: account, region, table, role prefix and partition."""

import re

from keyfence.errors import BadInput

_RULES = {
    "account": ("twelve digits", r"[0-9]{12}"),
    "region": ("the name of a region, such as us-east-1", r"[a-z]{2,}(-[a-z]+)+-[0-9]+"),
    "table": ("3 to 255 letters, digits, '_', '.' and '-'", r"[A-Za-z0-9_.-]{3,255}"),
    "role_prefix": ("at most 48 letters, digits and characters of '_+=,.@-'", r"[\w+=,.@-]{0,48}"),
    "partition": ("aws, aws-cn or another partition of AWS", r"aws(-[a-z]+)*"),
}
"""For each option, a description and a pattern of its valid values."""


def check_deployment_options(**values: str) -> None:
    """Raises BadInput for a value that must not be part of an ARN. A table named `*`, for example, matches all."""
    for name, value in values.items():
        description, pattern = _RULES[name]
        if not re.fullmatch(pattern, value, re.ASCII):
            raise BadInput(f"--{name.replace('_', '-')} {value!r} must be {description}.")
