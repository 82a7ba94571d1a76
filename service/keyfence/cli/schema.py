"""`keyfence schema` and `keyfence patterns`: documents that are generated from the code."""

from typing import Annotated, Literal

import typer

AdminOption = Annotated[bool, typer.Option("--admin", help="Print the schema of the operators' API instead.")]
FormatOption = Annotated[
    Literal["md", "json"], typer.Option("--format", help="The output: a Markdown page or a JSON list.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


def schema(admin: AdminOption = False) -> None:
    """Print the GraphQL schema of the tenants' API, in the schema definition language (SDL).

    The schema contains the domains that KEYFENCE_DOMAINS selects. The command needs no gate and no AWS.

    [bold]Example:[/bold] keyfence schema > docs/reference/schema.graphql

    [bold]Example:[/bold] keyfence schema --admin > docs/reference/schema-admin.graphql
    """
    typer.echo(_admin_schema() if admin else _tenant_schema())


def patterns(form: FormatOption = "md", json: JsonOption = False) -> None:
    """Print the keys and access patterns of all entities in the table.

    KEYFENCE_DOMAINS selects the domains. The command needs no gate and no AWS.

    [bold]Example:[/bold] keyfence patterns

    [bold]Example:[/bold] keyfence patterns --json | jq '.[0]'
    """
    from keyfence.access_patterns.report import as_markdown, as_rows
    from keyfence.cli.table_connection import selected_domains
    from keyfence.cli.terminal_output import print_json

    domains = selected_domains()
    if json or form == "json":
        print_json(as_rows(domains))
    else:
        typer.echo(as_markdown(domains).rstrip("\n"))


def _tenant_schema() -> str:
    from keyfence.cli.table_connection import selected_domains

    return selected_domains().schema.as_str()


def _admin_schema() -> str:
    from keyfence.admin.schema import schema

    return schema.as_str()
