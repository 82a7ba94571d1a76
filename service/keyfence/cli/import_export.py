"""`keyfence import` and `keyfence export`: the records of a tenant as lines of JSON."""

import json as json_module
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from keyfence.cli.file_arguments import open_input, open_output
from keyfence.cli.table_connection import (
    DataOption,
    EndpointUrlOption,
    JsonOption,
    TenantOption,
    connected_table,
    selected_domains,
)
from keyfence.errors import BadInput, KeyfenceError
from keyfence.local.data_directory import DEFAULT_DIRECTORY

if TYPE_CHECKING:
    from keyfence.bulk.importer import ImportCounts
    from keyfence.bulk.json_lines import BadLines
    from keyfence.bulk.record_kind import RecordKinds
    from keyfence.domain import Domains
    from keyfence.store.table import Table


DEFAULT_ITEMS_PER_SECOND = 1000.0

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A file with lines as `keyfence export` writes them. - reads stdin.")
]
ItemRateOption = Annotated[
    float, typer.Option("--rate", min=1, metavar="ITEMS_PER_SECOND", help="Write at most this many items in a second.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="The file to write. It appears when it is complete. Default: stdout."),
]
JsonSummaryOption = Annotated[bool, typer.Option("--json", help="Print the summary and errors as JSON, on stderr.")]


def import_(
    file: FileArgument,
    tenant: TenantOption,
    rate: ItemRateOption = DEFAULT_ITEMS_PER_SECOND,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Import records, such as customers and orders, from lines of JSON into a tenant.

    All lines are checked before the first one is written. A record that the tenant already has is skipped, so the same
    command continues after an interruption. A record that the tenant has with other content stops the import. The
    tenant must be ACTIVE. On a laptop `keyfence dev` must run; on AWS the command needs the role `service-base`.

    [bold]Example:[/bold] keyfence import acme.jsonl --tenant acme

    [bold]Example:[/bold] keyfence export --tenant acme | keyfence import - --tenant globex --rate 200
    """
    from keyfence.bulk.importer import ImportCounts, check_lines
    from keyfence.bulk.json_lines import BadLines

    counts, domains, started_at = ImportCounts(), selected_domains(), time.monotonic()
    try:
        with open_input(file) as content:
            line_count = check_lines(content, domains.record_kinds)
            content.seek(0)
            _import_lines(
                content, line_count, counts, domains, tenant=tenant, rate=rate, data=data, endpoint_url=endpoint_url
            )
    except BadLines as error:
        _print_bad_lines(error, counts, domains.record_kinds, as_json=json)
        raise typer.Exit(1) from None
    _print_counts(counts, domains.record_kinds, tenant, time.monotonic() - started_at, as_json=json)


def export(
    tenant: TenantOption,
    out: OutOption = None,
    json: JsonSummaryOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Export the records of a tenant, such as customers and orders, as one line of JSON for each record.

    Two exports of an unchanged tenant are equal. `keyfence import` reads the lines. The tenant must be ACTIVE. On a
    laptop `keyfence dev` must run; on AWS the command needs the role `service-base`.

    [bold]Example:[/bold] keyfence export --tenant acme > acme.jsonl

    [bold]Example:[/bold] keyfence export --tenant acme --out acme.jsonl
    """
    import asyncio

    from keyfence.cli.interrupts import interruptible
    from keyfence.cli.terminal_output import progress_bar

    counts, kinds = Counter[str](), selected_domains().record_kinds

    async def work(file: BinaryIO) -> None:
        async with connected_table(tenant, data, endpoint_url, may_write=False) as table:
            with progress_bar(f"exporting {tenant}") as advance:
                async for kind, line in _exported_lines(table, kinds):
                    file.write(line)
                    counts[kind] += 1
                    advance(1)

    with interruptible(), open_output(out) as file:
        asyncio.run(work(file))
    summary = json_module.dumps({"tenant": tenant, "exported": dict(counts)})
    typer.echo(summary if json else f"Exported {_counts_text(counts, kinds)}.", err=True)


def _import_lines(
    content: BinaryIO,
    line_count: int,
    counts: "ImportCounts",
    domains: "Domains",
    *,
    tenant: str,
    rate: float,
    data: Path,
    endpoint_url: str | None,
) -> None:
    import asyncio

    from keyfence.bulk.importer import Importer
    from keyfence.bulk.json_lines import BadLines
    from keyfence.bulk.record_kind import IMPORTER
    from keyfence.cli.interrupts import Interrupted, interruptible
    from keyfence.cli.terminal_output import progress_bar

    async def work() -> None:
        async with connected_table(tenant, data, endpoint_url, may_write=True) as table:
            with progress_bar(f"importing {line_count:,} lines into {tenant}", line_count) as advance:
                logged_table = replace(table, activity_log=domains.new_activity_log(IMPORTER))
                importer = Importer.for_table(
                    logged_table, domains.record_kinds, rate=rate, counts=counts, on_progress=advance
                )
                await importer.run(content)

    try:
        with interruptible():
            asyncio.run(work())
    except KeyboardInterrupt:
        raise Interrupted(_continue_message("Interrupted", counts, line_count)) from None
    except (BadInput, BadLines):
        raise
    except KeyfenceError as error:
        raise KeyfenceError(_continue_message(error.message, counts, line_count)) from error


async def _exported_lines(table: "Table", kinds: "RecordKinds") -> AsyncIterator[tuple[str, bytes]]:
    """Yields the kind and the text of each record. Reads of the table, but not of indexes, are strongly consistent."""
    from keyfence.bulk.exporter import Exporter
    from keyfence.bulk.json_lines import encode_line

    async for line in Exporter(replace(table, consistent=True), kinds).lines():
        yield line["type"], encode_line(line)


def _print_counts(counts: "ImportCounts", kinds: "RecordKinds", tenant: str, seconds: float, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_module.dumps({"tenant": tenant, **_counts_json(counts), "seconds": round(seconds, 3)}))
        return
    typer.echo(f"Imported {_counts_text(counts.written, kinds)} into {tenant} in {seconds:.1f} s.")
    if counts.existing:
        typer.echo(f"Skipped, because the tenant already had them: {_counts_text(counts.existing, kinds)}.")
    if counts.expired:
        typer.echo(f"Skipped, because their time in the recycle bin is over: {_counts_text(counts.expired, kinds)}.")


def _print_bad_lines(error: "BadLines", counts: "ImportCounts", kinds: "RecordKinds", *, as_json: bool) -> None:
    if as_json:
        problems = [asdict(problem) for problem in error.errors]
        typer.echo(json_module.dumps({**_counts_json(counts), "errors": problems}))
        return
    typer.echo(error.message, err=True)
    outcome = (
        f"Imported {_counts_text(counts.written, kinds)} before that." if counts.written else "Nothing was written."
    )
    typer.echo(outcome, err=True)


def _continue_message(reason: str, counts: "ImportCounts", line_count: int) -> str:
    """Returns a message with the reason of an interruption, and with the advice to run the same command again."""
    return f"{reason.rstrip('.')}. {counts.lines:,} of {line_count:,} lines are done. Run the same command to continue."


def _counts_text(counts: Mapping[str, int], kinds: "RecordKinds") -> str:
    parts = [
        f"{count:,} {kind.name if count == 1 else kind.plural}"
        for kind in kinds.values()
        if (count := counts.get(kind.name, 0))
    ]
    return ", ".join(parts) or "nothing"


def _counts_json(counts: "ImportCounts") -> dict[str, Any]:
    return {"written": dict(counts.written), "existing": dict(counts.existing), "expired": dict(counts.expired)}
