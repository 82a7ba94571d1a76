"""keyfence export: a tenant's customers, categories, products and orders as lines of JSON."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from keyfence.cli.imported import counted as told
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl, Tenant, reached
from keyfence.errors import BadInput
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.store.table import Table

Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Written when it is complete; stdout if left out.")
]


def export(tenant: Tenant, out: Out = None, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Write everything that `keyfence import` brings in: customers, categories, products and orders with all theirs.

    The order of the lines stays the same as long as the tenant does.

    [bold]Example:[/bold] keyfence export --tenant acme > acme.jsonl

    [bold]Example:[/bold] keyfence export --tenant acme --out acme.jsonl
    """
    import asyncio

    from keyfence.cli.progress import counted

    counts: Counter[str] = Counter()

    async def work(file: BinaryIO) -> None:
        async with reached(tenant, data, endpoint_url, writes=False) as table:
            with counted(f"exporting {tenant}") as tell:
                async for kind, line in _lines(table):
                    file.write(line)
                    counts[kind] += 1
                    tell(1)

    with _opened(out) as file:
        asyncio.run(work(file))
    typer.echo(f"Exported {told(counts)}.", err=True)


async def _lines(table: "Table") -> AsyncIterator[tuple[str, bytes]]:
    """Read consistently, wherever DynamoDB can."""
    from dataclasses import replace

    from keyfence.bulk.exporter import Exporter
    from keyfence.bulk.spelling import encoded

    async for line in Exporter(replace(table, consistent=True)).lines():
        yield line["type"], encoded(line)


@contextmanager
def _opened(out: Path | None) -> Iterator[BinaryIO]:
    """A file that has the name only once it is whole."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = out.with_name(f".{out.name}.part")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(out)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)
