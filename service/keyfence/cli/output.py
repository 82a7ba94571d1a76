"""Status line, progress bar, tables, JSON of tenants."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import typer

from keyfence.store.codec import attribute

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from keyfence.store.shards import ShardCounts
    from keyfence.tenancy.tenant import TableMove, Tenant, TenantEvent


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield lambda text: status.update(f"{escape(text)} ...")
    else:
        yield lambda text: print(f"{text} ...", file=sys.stderr, flush=True)


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar that grows on a terminal, and elsewhere one line that says what begins."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(escape(what), total=total)
            yield lambda more: bar.advance(task, more)
    else:
        print(f"{what} ...", file=sys.stderr, flush=True)
        yield lambda _: None


WIDE = 10_000
GAP = 2
COLOURS = {
    "ACTIVE": "green",
    "SUSPENDED": "red",
    "OFFBOARDING": "yellow",
    "PROVISIONING": "yellow",
    "OFFBOARDED": "dim",
}

Row = Sequence[str]
Justify = Literal["left", "right"]


def console() -> "Console":
    from rich.console import Console

    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDE)


def print_table(
    out: "Console", headings: Row, rows: Iterable[Row], *, widths: Sequence[int] = (), numbers: Sequence[str] = ()
) -> None:
    out.print(columns(headings, rows, room=out.width, widths=widths, numbers=numbers))


def columns(
    headings: Row, rows: Iterable[Row], *, room: int, widths: Sequence[int] = (), numbers: Sequence[str] = ()
) -> "Table":
    """Only the last column gives way on a narrow terminal. `widths` let tables below each other line up."""
    cells = list(rows)
    made = _table(headed=any(headings))
    for at, heading in enumerate(headings):
        least = max([*widths[at : at + 1], len(heading), *(_width(row[at]) for row in cells)])
        fitting = max(len(heading), room) if at == len(headings) - 1 else least
        justify: Justify = "right" if heading in numbers else "left"
        made.add_column(heading, justify=justify, width=min(least, fitting), no_wrap=True, overflow="ellipsis")
        room -= least + GAP
    for row in cells:
        made.add_row(*row)
    return made


def shown(text: str) -> str:
    """Whatever somebody called something, it is not markup."""
    from rich.markup import escape

    return escape(text)


def status(text: str) -> str:
    return f"[{COLOURS.get(text, 'yellow')}]{text}[/]"


def minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _table(*, headed: bool) -> "Table":
    from rich.table import Table

    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=headed, header_style="bold")


def _width(cell: str) -> int:
    from rich.text import Text

    return Text.from_markup(cell).cell_len


def echo(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


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
        "quotas": named(asdict(tenant.quotas)),
        "overrides": {name: value for name, value in named(asdict(tenant.overrides)).items() if value is not None},
        "createdAt": moment(tenant.created_at),
        "updatedAt": moment(tenant.updated_at),
        "version": tenant.version,
    }


def move_json(move: "TableMove") -> dict[str, Any]:
    return {"to": move.goal, "phase": move.phase, "migration": move.migration, "back": move.back}


def shards_json(counts: "Mapping[str, ShardCounts]") -> list[dict[str, Any]]:
    return [{"collection": name, **named(asdict(one))} for name, one in counts.items()]


def event_json(event: "TenantEvent") -> dict[str, Any]:
    at, detail = moment(event.created_at), json.loads(event.detail)
    return {"id": event.id, "at": at, "kind": event.kind, "by": event.by, "detail": detail}


def named(values: dict[str, Any]) -> dict[str, Any]:
    return {attribute(name): value for name, value in values.items()}


def moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
