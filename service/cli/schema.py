"""keyfence schema: the GraphQL schema as text."""

import typer


def schema() -> None:
    """Print the GraphQL schema that tenants see.

    [bold]Example:[/bold] keyfence schema > docs/schema.graphql
    """
    from service.graphql.schema import schema as tenants

    typer.echo(tenants.as_str())
