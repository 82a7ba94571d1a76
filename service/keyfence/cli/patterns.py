"""keyfence patterns: every way in which the table is reached."""

from typing import Annotated, Literal

import typer

Format = Annotated[Literal["md", "json"], typer.Option("--format", help="A table to read, or JSON to compute with.")]


def patterns(form: Format = "md") -> None:
    """Print the access patterns of every entity.

    [bold]Example:[/bold] keyfence patterns

    [bold]Example:[/bold] keyfence patterns --format json
    """
    import json

    from keyfence.catalogue import as_markdown, as_rows

    typer.echo(json.dumps(as_rows(), indent=2, ensure_ascii=False) if form == "json" else as_markdown().rstrip("\n"))
