"""keyfence table: whether the production table is as it should be."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence.store.schema import Administration

ADVICE = """--create makes a table that is missing, and gives one that is there time to live, but nothing else:
mend it on AWS, where an index has to be made anew, or name another with KEYFENCE_TABLE."""
Create = Annotated[bool, typer.Option("--create", help="Create it where it is missing, and wait until it can be used.")]


def table(create: Create = False) -> None:
    """Compare the table that KEYFENCE_TABLE names with its definition, on AWS's usual credentials.

    It ends with exit code 1 where they differ, and names each difference.

    [bold]Example:[/bold] keyfence table

    [bold]Example:[/bold] KEYFENCE_REGION=eu-west-1 keyfence table --create
    """
    from keyfence.store.schema import TableDiffers, Unreachable

    administration = _administration()
    try:
        if create:
            typer.echo(f"{'Created' if administration.create() else 'Found'} the table {administration.table}.")
        administration.check()
    except TableDiffers as error:
        raise BadInput(f"{error.message}\n{ADVICE}") from error
    except Unreachable as error:
        raise BadInput(str(error)) from error
    typer.echo(f"The table {administration.table} is as defined.")


def _administration() -> "Administration":
    from keyfence.settings import BadSettings, read
    from keyfence.store.dynamodb.client import Wire
    from keyfence.store.schema import Administration, Unreachable

    try:
        settings = read()
        wire = Wire(region=settings.region, endpoint_url=settings.endpoint_url)
        return Administration.connect(wire, settings.table)
    except (BadSettings, *Unreachable) as error:
        raise BadInput(str(error)) from error
