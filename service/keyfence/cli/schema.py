"""`keyfence schema`, `keyfence patterns`."""

from typing import Annotated, Literal

import typer

Admin = Annotated[bool, typer.Option("--admin", help="The schema that operators see instead.")]


def schema(admin: Admin = False) -> None:
    """Print the GraphQL schema that tenants see.

    [bold]Example:[/bold] keyfence schema > docs/schema.graphql

    [bold]Example:[/bold] keyfence schema --admin > docs/schema-admin.graphql
    """
    typer.echo(_operators() if admin else _tenants())


def _tenants() -> str:
    from keyfence.app.domains import load_domains
    from keyfence.settings import load

    return load_domains(load().domains).schema.as_str()


def _operators() -> str:
    from keyfence.admin.schema import schema

    return schema.as_str()


Format = Annotated[Literal["md", "json"], typer.Option("--format", help="A table to read, or JSON to compute with.")]


def patterns(form: Format = "md") -> None:
    """Print the access patterns of every entity.

    [bold]Example:[/bold] keyfence patterns

    [bold]Example:[/bold] keyfence patterns --format json
    """
    import json

    from keyfence.access_patterns.report import as_markdown, as_rows
    from keyfence.app.domains import load_domains
    from keyfence.settings import load

    domains = load_domains(load().domains)
    rows = json.dumps(as_rows(domains), indent=2, ensure_ascii=False) if form == "json" else ""
    typer.echo(rows or as_markdown(domains).rstrip("\n"))
