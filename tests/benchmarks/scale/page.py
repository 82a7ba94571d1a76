"""Writes docs/scale.md from a run of the model."""

from collections.abc import Iterator, Sequence

from tests.benchmarks.scale.assumptions import LEFT_OUT, assumed, points
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.population import World
from tests.benchmarks.scale.table import as_markdown


def page(world: World, outcomes: Sequence[Outcome]) -> str:
    parts = [
        _opening(world, outcomes[0]),
        as_markdown(outcomes),
        points(_read(outcomes)),
        "## What is assumed",
        points(assumed(world)),
        "## What is left out",
        points(LEFT_OUT),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(world: World, outcome: Outcome) -> str:
    return f"""# Slots at scale: a model

Written by `uv run python -m tests.benchmarks.scale --write-docs`: {world.tenants:,} tenants over {world.seconds} s
with seed {world.seed}, of which {outcome.stepped} may come near a limit. The same seed gives the same numbers.
It is a calculation: nothing of it was measured on AWS.

![Requests throttled in a second, in the course of the run](scale.svg)"""


def _read(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Returns sentences about the table."""
    yield "What is throttled costs nothing, so that the month of N=1 is cheap by what it refuses."
    for one in outcomes:
        if one.policy == "autopilot":
            yield _waited(one)
        elif one.extra_read_units:
            quiet = one.extra_of_quiet / one.extra_read_units
            yield (
                f"{one.policy}, {one.burst_seconds:g} s kept: {quiet:.0%} of the extra read units are of tenants that"
                " never come near a limit."
            )


def _waited(one: Outcome) -> str:
    waited = one.throttled - one.throttled_at_bound - one.throttled_with_slots
    return (
        f"{one.policy}, {one.burst_seconds:g} s kept: {waited:,.0f} requests were throttled while the tenant waited for"
        f" its slots, {one.throttled_at_bound:,.0f} when it had all that its tier allows and wanted more, and"
        f" {one.throttled_with_slots:,.0f} otherwise. All of its extra read units are of the"
        f" {one.tenants_widened} tenants with more slots."
    )
