"""The outcomes of a run as a table, as text and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from tests.benchmarks.scale.outcome import Outcome

HEADINGS = (
    "burst kept",
    "slots given",
    "throttled",
    "share",
    "share in the last fifth",
    "tenants throttled",
    "tenants with N>1",
    "slots in all",
    "extra read units",
    "USD a month",
    "USD for a billion served",
)


def row(outcome: Outcome) -> tuple[str, ...]:
    return (
        f"{outcome.burst_seconds:g} s",
        outcome.policy,
        f"{outcome.throttled:,.0f}",
        f"{outcome.share:.3%}".replace("%", " %"),
        f"{outcome.late_share:.3%}".replace("%", " %"),
        f"{outcome.tenants_throttled:,}",
        f"{outcome.tenants_widened:,}",
        f"{outcome.slots:,}",
        f"{outcome.extra_read_units:,.0f}",
        f"{outcome.usd_a_month():,.0f}",
        f"{outcome.usd_a_billion():,.0f}",
    )


def as_markdown(outcomes: Iterable[Outcome]) -> str:
    rows = [HEADINGS, ("---",) * len(HEADINGS), *map(row, outcomes)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def as_text(outcomes: Iterable[Outcome]) -> str:
    """A line for each figure, since eleven columns do not fit a terminal."""
    columns = list(zip(HEADINGS, *map(row, outcomes), strict=True))
    return "\n".join(f"{name:<26}" + "".join(f"{cell:>14}" for cell in cells) for name, *cells in columns)


def as_json(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [
        asdict(outcome) | {"share": outcome.share, "usd_a_month": float(outcome.usd_a_month())} for outcome in outcomes
    ]
