"""keyfence schema: the GraphQL schemas as text."""

from typing import Annotated

import typer

Admin = Annotated[bool, typer.Option("--admin", help="The schema that operators see instead.")]


def schema(admin: Admin = False) -> None:
    """Print the GraphQL schema that tenants see.

    [bold]Example:[/bold] keyfence schema > docs/schema.graphql

    [bold]Example:[/bold] keyfence schema --admin > docs/schema-admin.graphql
    """
    typer.echo(_operators() if admin else _tenants())


def _tenants() -> str:
    from keyfence.graphql.schema import schema

    return schema.as_str()


def _operators() -> str:
    from keyfence.admin.schema import schema

    return schema.as_str()
