"""How commands print: status line, progress bar, tables, and tenants as JSON."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import typer

from keyfence.store.codec import attribute_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from keyfence.store.shards import ShardCounts
    from keyfence.tenancy.placement import TableMove
    from keyfence.tenancy.tenant import Tenant
    from keyfence.tenancy.tenant_events import TenantEvent

WIDTH_OF_A_PIPE = 10_000
GAP = 2
STATUS_COLORS = {
    "ACTIVE": "green",
    "SUSPENDED": "red",
    "OFFBOARDING": "yellow",
    "PROVISIONING": "yellow",
    "OFFBOARDED": "dim",
}
HOT, WARM = 0.8, 0.5
"""Parts of a partition's limit from which it is shown in red and in yellow."""

Row = Sequence[str]


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows the current step: one moving line on a terminal, a line for each step elsewhere."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield lambda text: status.update(f"{escape(text)} ...")
    else:
        yield lambda text: print(f"{text} ...", file=sys.stderr, flush=True)


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yields a function that adds to the bar. Without a terminal, only the description is printed."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(escape(description), total=total)
            yield lambda count: bar.advance(task, count)
    else:
        print(f"{description} ...", file=sys.stderr, flush=True)
        yield lambda _: None


def console() -> "Console":
    """Returns a console for stdout. In a pipe no line is wrapped."""
    from rich.console import Console

    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=WIDTH_OF_A_PIPE)


def print_table(
    out: "Console", headings: Row, rows: Iterable[Row], *, widths: Sequence[int] = (), numbers: Sequence[str] = ()
) -> None:
    out.print(table(headings, rows, width=out.width, widths=widths, numbers=numbers))


def table(
    headings: Row, rows: Iterable[Row], *, width: int, widths: Sequence[int] = (), numbers: Sequence[str] = ()
) -> "Table":
    """Returns a table that fits into `width` by cutting its last column.

    `widths` are minimum widths, by which tables below each other line up. `numbers` are headings of columns that are
    aligned to the right.
    """
    from rich.table import Table

    cells = list(rows)
    result = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=any(headings), header_style="bold")
    remaining = width
    for position, heading in enumerate(headings):
        needed = max([*widths[position : position + 1], len(heading), *(_cell_width(row[position]) for row in cells)])
        is_last = position == len(headings) - 1
        fitting = min(needed, max(len(heading), remaining)) if is_last else needed
        justify: Literal["left", "right"] = "right" if heading in numbers else "left"
        result.add_column(heading, justify=justify, width=fitting, no_wrap=True, overflow="ellipsis")
        remaining -= needed + GAP
    for row in cells:
        result.add_row(*row)
    return result


def escape_markup(text: str) -> str:
    """Returns text that rich prints as it is: a name such as `[red]` must not color the terminal."""
    from rich.markup import escape

    return escape(text)


def colored_status(status: str) -> str:
    return f"[{STATUS_COLORS.get(status, 'yellow')}]{status}[/]"


def colored_load(share: float) -> str:
    color = "red" if share >= HOT else "yellow" if share >= WARM else "green"
    return f"[{color}]{share:.0%}[/]"


def format_minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def format_timestamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def print_json(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def camel_case_keys(values: dict[str, Any]) -> dict[str, Any]:
    return {attribute_name(name): value for name, value in values.items()}


def tenant_json(tenant: "Tenant") -> dict[str, Any]:
    return {
        "id": tenant.id,
        "name": tenant.name,
        "status": tenant.status,
        "tier": tenant.tier,
        "placement": tenant.placement,
        "move": move_json(tenant.move) if tenant.move else None,
        "issuer": tenant.issuer,
        "reason": tenant.reason,
        "storedBytes": tenant.stored_bytes,
        "quotas": camel_case_keys(asdict(tenant.quotas)),
        "overrides": {
            name: value for name, value in camel_case_keys(asdict(tenant.overrides)).items() if value is not None
        },
        "createdAt": format_timestamp(tenant.created_at),
        "updatedAt": format_timestamp(tenant.updated_at),
        "version": tenant.version,
    }


def move_json(move: "TableMove") -> dict[str, Any]:
    return {"to": move.goal, "phase": move.phase, "job": move.job_id, "isCancelled": move.is_cancelled}


def shards_json(counts: "Mapping[str, ShardCounts]") -> list[dict[str, Any]]:
    return [{"collection": name, **camel_case_keys(asdict(count))} for name, count in counts.items()]


def event_json(event: "TenantEvent") -> dict[str, Any]:
    at, detail = format_timestamp(event.created_at), json.loads(event.detail)
    return {"id": event.id, "at": at, "kind": event.kind, "by": event.by, "detail": detail}


def _cell_width(cell: str) -> int:
    from rich.text import Text

    return Text.from_markup(cell).cell_len
