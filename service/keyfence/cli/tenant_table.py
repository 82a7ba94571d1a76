"""Tables to read: drawn on a terminal, in plain columns that nothing cuts off elsewhere."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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


def lay(
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
