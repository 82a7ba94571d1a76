"""The outcomes of a run as a Markdown table, as text and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from tests.benchmarks.scale.outcome import Outcome

HEADINGS = (
    "burst capacity",
    "policy",
    "throttled requests",
    "share",
    "share in the last fifth",
    "throttled tenants",
    "tenants with several shards",
    "shards",
    "extra read units",
    "USD a month",
    "USD for a billion served",
)


def row(outcome: Outcome) -> tuple[str, ...]:
    return (
        f"{outcome.burst_seconds:g} s",
        outcome.policy,
        f"{outcome.throttled:,.0f}",
        f"{outcome.throttled_share:.3%}".replace("%", " %"),
        f"{outcome.late_throttled_share:.3%}".replace("%", " %"),
        f"{outcome.tenants_throttled:,}",
        f"{outcome.tenants_with_several_shards:,}",
        f"{outcome.shards:,}",
        f"{outcome.extra_read_units:,.0f}",
        f"{outcome.usd_a_month():,.0f}",
        f"{outcome.usd_a_billion():,.0f}",
    )


def as_markdown(outcomes: Iterable[Outcome]) -> str:
    rows = [HEADINGS, ("---",) * len(HEADINGS), *map(row, outcomes)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def as_text(outcomes: Iterable[Outcome]) -> str:
    """Returns a line for each heading and a column for each outcome, since eleven columns do not fit a terminal."""
    lines = list(zip(HEADINGS, *map(row, outcomes), strict=True))
    return "\n".join(f"{heading:<28}" + "".join(f"{cell:>14}" for cell in cells) for heading, *cells in lines)


def as_json(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [
        asdict(outcome) | {"throttled_share": outcome.throttled_share, "usd_a_month": float(outcome.usd_a_month())}
        for outcome in outcomes
    ]
