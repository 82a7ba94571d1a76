"""In whose name a command acts on tenants."""

import getpass
import os
from typing import Annotated

import typer

from keyfence.errors import BadInput

LONGEST = 256

By = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Who does it: events name cli:NAME. The name of your account here if left out."
    ),
]


def operator(given: str | None) -> str:
    """No token proves it, so it is never spelled like the subject of one."""
    name = _account() if given is None else given
    if not (0 < len(name) <= LONGEST and name.isprintable()):
        raise BadInput(f"--as must be 1 to {LONGEST} printable characters.")
    return f"cli:{name}"


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"
