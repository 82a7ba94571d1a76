"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path,
    typer.Option("--data", envvar="KEYFENCE_DATA", metavar="DIR", help="Where keys, engine and data are kept."),
]
