"""keyfence import: lines of JSON into a tenant's table."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from keyfence.cli.imported import done, refused, stopped
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl, Tenant, reached
from keyfence.errors import BadInput, KeyfenceError
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.bulk.importer import Tally

RATE = 1000.0
INTERRUPTED = 130

File = Annotated[str, typer.Argument(metavar="FILE", help="Lines as `keyfence export` writes them; - is stdin.")]
ItemRate = Annotated[
    float, typer.Option("--rate", min=1, metavar="ITEMS_PER_SECOND", help="Items that are written in a second at most.")
]
Json = Annotated[bool, typer.Option("--json", help="Say what was done, or what is wrong, as JSON.")]


def import_(
    file: File,
    tenant: Tenant,
    rate: ItemRate = RATE,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Bring customers, categories, products and orders into a tenant, each line once.

    Nothing is written unless every line is well formed. A line that is there already is passed over, so that an import
    that was interrupted is taken up by the same command; one that differs from what is there ends it.

    [bold]Example:[/bold] keyfence import acme.jsonl --tenant acme

    [bold]Example:[/bold] keyfence export --tenant acme | keyfence import - --tenant globex --rate 200
    """
    from keyfence.bulk.importer import BadLines, Tally, check

    tally, begun = Tally(), time.monotonic()
    try:
        with _opened(file) as content:
            lines = check(content)
            content.seek(0)
            _run(content, lines, tally, tenant=tenant, rate=rate, data=data, endpoint_url=endpoint_url)
    except BadLines as bad:
        refused(bad, tally, as_json=json)
        raise typer.Exit(1) from None
    done(tally, tenant, time.monotonic() - begun, as_json=json)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Stdin is kept in a file for as long as it takes, since it is read twice."""
    try:
        if name != "-":
            with Path(name).open("rb") as file:
                yield file
        else:
            with tempfile.TemporaryFile() as kept:
                shutil.copyfileobj(sys.stdin.buffer, kept)
                kept.seek(0)
                yield kept
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from error


def _run(
    content: BinaryIO, lines: int, tally: "Tally", *, tenant: str, rate: float, data: Path, endpoint_url: str | None
) -> None:
    import asyncio

    from keyfence.bulk.importer import BadLines, Importer
    from keyfence.cli.progress import counted
    from keyfence.cli.signals import interruptible

    async def work() -> None:
        async with reached(tenant, data, endpoint_url, writes=True) as table:
            with counted(f"importing {lines:,} lines into {tenant}", lines) as tell:
                await Importer.into(table, rate=rate, tally=tally, tell=tell).run(content)

    try:
        with interruptible():
            asyncio.run(work())
    except KeyboardInterrupt:
        typer.echo(stopped("Interrupted", tally, lines), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (BadInput, BadLines):
        raise
    except KeyfenceError as error:
        raise KeyfenceError(stopped(error.message, tally, lines)) from error
