"""Tables to read: drawn on a terminal, in plain columns that nothing cuts off elsewhere."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 10_000
COLOURS = {
    "ACTIVE": "green",
    "SUSPENDED": "red",
    "OFFBOARDING": "yellow",
    "PROVISIONING": "yellow",
    "OFFBOARDED": "dim",
}

Row = Sequence[str]


def console() -> "Console":
    from rich.console import Console

    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDE)


def columns(headings: Row, rows: Iterable[Row], *, widths: Sequence[int] = (), numbers: Sequence[str] = ()) -> "Table":
    """`widths` are the least that the first columns have, so that tables below each other line up."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(headings), header_style="bold")
    for at, heading in enumerate(headings):
        least = widths[at] if at < len(widths) else None
        made.add_column(heading, justify="right" if heading in numbers else "left", min_width=least, no_wrap=True)
    for row in rows:
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
