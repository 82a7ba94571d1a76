"""Output of commands: status line, progress bar, tables, colors, times and JSON."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNLIMITED_WIDTH = 10_000
"""The width of output that is not a terminal, in characters. It is longer than any line, so that no line is wrapped."""
COLUMN_GAP = 2
"""Spaces between two columns of a table."""
STATUS_COLORS = {
    "ACTIVE": "green",
    "SUSPENDED": "red",
    "OFFBOARDING": "yellow",
    "PROVISIONING": "yellow",
    "OFFBOARDED": "dim",
}
RED_LOAD, YELLOW_LOAD = 0.8, 0.5
"""A partition that uses at least this share of its limit is shown in red or in yellow."""

Row = Sequence[str]


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows the current step. A terminal shows only the latest step. Other output gets a line
    for each step."""
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
    """Yields a function that advances the bar by a number of items. Without a terminal, only the description is
    printed."""
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
    """Returns a console for stdout. If stdout is not a terminal, no line is wrapped."""
    from rich.console import Console

    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=UNLIMITED_WIDTH)


def print_table(
    out: "Console", headings: Row, rows: Iterable[Row], *, min_widths: Sequence[int] = (), numbers: Sequence[str] = ()
) -> None:
    out.print(table(headings, rows, width=out.width, min_widths=min_widths, numbers=numbers))


def table(
    headings: Row, rows: Iterable[Row], *, width: int, min_widths: Sequence[int] = (), numbers: Sequence[str] = ()
) -> "Table":
    """Returns a table. If it is wider than `width`, its last column is cut.

    `min_widths` are the minimum widths of the first columns. `numbers` are the headings of right-aligned columns.
    """
    from rich.table import Table

    cell_rows = list(rows)
    result = Table(
        box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0), show_header=any(headings), header_style="bold"
    )
    remaining_width = width
    for position, heading in enumerate(headings):
        min_width = min_widths[position] if position < len(min_widths) else 0
        needed_width = max([min_width, len(heading), *(_cell_width(row[position]) for row in cell_rows)])
        is_last = position == len(headings) - 1
        column_width = min(needed_width, max(len(heading), remaining_width)) if is_last else needed_width
        justify: Literal["left", "right"] = "right" if heading in numbers else "left"
        result.add_column(heading, justify=justify, width=column_width, no_wrap=True, overflow="ellipsis")
        remaining_width -= needed_width + COLUMN_GAP
    for row in cell_rows:
        result.add_row(*row)
    return result


def escape_markup(text: str) -> str:
    """Returns the text with markup escaped: a tenant's name such as `[red]` must not color the terminal."""
    from rich.markup import escape

    return escape(text)


def colored_status(status: str) -> str:
    return f"[{STATUS_COLORS.get(status, 'yellow')}]{status}[/]"


def colored_load(share: float) -> str:
    color = "red" if share >= RED_LOAD else "yellow" if share >= YELLOW_LOAD else "green"
    return f"[{color}]{share:.0%}[/]"


def format_minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def format_timestamp(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def print_json(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _cell_width(cell: str) -> int:
    """Returns the width on the terminal, without markup. Wide characters count as two."""
    from rich.text import Text

    return Text.from_markup(cell).cell_len
