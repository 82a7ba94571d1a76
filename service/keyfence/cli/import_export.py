"""`keyfence import`, `keyfence export`."""

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from keyfence.cli.connection import Data, EndpointUrl, Tenant, connected_table
from keyfence.errors import BadInput, KeyfenceError
from keyfence.local.data_directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.bulk.importer import BadLines, ImportCounts
    from keyfence.store.table import Table


PLURALS = {"customer": "customers", "category": "categories", "product": "products", "order": "orders"}


def done(tally: "ImportCounts", tenant: str, seconds: float, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"tenant": tenant, **_counts(tally), "seconds": round(seconds, 3)}))
        return
    typer.echo(f"Imported {counts_text(tally.written)} into {tenant} in {seconds:.1f} s.")
    if tally.found:
        typer.echo(f"There already: {counts_text(tally.found)}.")
    if tally.expired:
        typer.echo(f"Left out, since their time in the recycle bin is over: {counts_text(tally.expired)}.")


def refused(bad: "BadLines", tally: "ImportCounts", *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**_counts(tally), "errors": [asdict(problem) for problem in bad.problems]}))
    else:
        typer.echo(bad.message, err=True)
        before = f"Imported {counts_text(tally.written)} before that." if tally.written else "Nothing was written."
        typer.echo(before, err=True)


def stopped(why: str, tally: "ImportCounts", lines: int) -> str:
    return f"{why.rstrip('.')}. {tally.lines:,} of {lines:,} lines are done; the same command goes on from there."


def counts_text(counts: Mapping[str, int]) -> str:
    parts = [f"{count:,} {kind if count == 1 else PLURALS[kind]}" for kind in PLURALS if (count := counts.get(kind, 0))]
    return ", ".join(parts) or "nothing"


def _counts(tally: "ImportCounts") -> dict[str, Any]:
    return {"written": dict(tally.written), "found": dict(tally.found), "expired": dict(tally.expired)}


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
    from keyfence.bulk.importer import BadLines, ImportCounts, check_lines

    tally, begun = ImportCounts(), time.monotonic()
    try:
        with _opened(file) as content:
            lines = check_lines(content)
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
    content: BinaryIO,
    lines: int,
    tally: "ImportCounts",
    *,
    tenant: str,
    rate: float,
    data: Path,
    endpoint_url: str | None,
) -> None:
    import asyncio

    from keyfence.bulk.importer import BadLines, Importer
    from keyfence.cli.output import progress_bar
    from keyfence.cli.process import interruptible

    async def work() -> None:
        async with connected_table(tenant, data, endpoint_url, writes=True) as table:
            with progress_bar(f"importing {lines:,} lines into {tenant}", lines) as tell:
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

    from keyfence.cli.output import progress_bar

    counts: Counter[str] = Counter()

    async def work(file: BinaryIO) -> None:
        async with connected_table(tenant, data, endpoint_url, writes=False) as table:
            with progress_bar(f"exporting {tenant}") as tell:
                async for kind, line in _lines(table):
                    file.write(line)
                    counts[kind] += 1
                    tell(1)

    with _open_output(out) as file:
        asyncio.run(work(file))
    typer.echo(f"Exported {counts_text(counts)}.", err=True)


async def _lines(table: "Table") -> AsyncIterator[tuple[str, bytes]]:
    """Read consistently, wherever DynamoDB can."""
    from dataclasses import replace

    from keyfence.bulk.exporter import Exporter
    from keyfence.bulk.record_kind import encoded

    async for line in Exporter(replace(table, consistent=True)).lines():
        yield line["type"], encoded(line)


@contextmanager
def _open_output(out: Path | None) -> Iterator[BinaryIO]:
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
