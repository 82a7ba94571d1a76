"""Writes docs/reference/scale.md from the outcomes of a run."""

from collections.abc import Iterator, Sequence

from tests.benchmarks.scale.assumptions import LIMITATIONS, assumptions, bullet_list
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.population import RunParameters
from tests.benchmarks.scale.report_table import as_markdown


def page(parameters: RunParameters, outcomes: Sequence[Outcome]) -> str:
    sections = [
        _introduction(parameters, outcomes[0]),
        as_markdown(outcomes),
        bullet_list(_explanations(outcomes)),
        "## Assumptions",
        bullet_list(assumptions(parameters)),
        "## Limitations",
        bullet_list(LIMITATIONS),
    ]
    return "\n\n".join(sections) + "\n"


def _introduction(parameters: RunParameters, outcome: Outcome) -> str:
    size = f"{parameters.tenants:,} tenants over {parameters.seconds} s"
    near_limit = f"{outcome.simulated_tenants} tenants may come near a limit"
    return f"""# Shards at scale: a model

`uv run python -m tests.benchmarks.scale --write-docs` wrote this page. The model has {size}.
Its seed is {parameters.seed}, and the same seed gives the same numbers. {near_limit}.
All numbers are calculated. None of them was measured on AWS.

![Throttled requests a second, by minute of the run](scale.svg)"""


def _explanations(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yields sentences that explain the table."""
    yield "A throttled request costs nothing. Therefore a month with N=1 is cheap: it serves fewer requests."
    for outcome in outcomes:
        if outcome.policy == "autopilot":
            yield _autopilot_explanation(outcome)
        elif outcome.extra_read_units:
            quiet_share = outcome.extra_read_units_of_quiet_tenants / outcome.extra_read_units
            yield (
                f"{outcome.policy}, {outcome.burst_seconds:g} s: {quiet_share:.0%} of the extra read units are those of"
                " tenants that never come near a limit."
            )


def _autopilot_explanation(outcome: Outcome) -> str:
    return (
        f"{outcome.policy}, {outcome.burst_seconds:g} s: {outcome.throttled_while_growing:,.0f} requests were throttled"
        f" while the tenant waited for new shards, {outcome.throttled_at_max_shards:,.0f} after it had all shards that"
        f" its tier allows, and {outcome.throttled_below_max_shards:,.0f} otherwise. All extra read units are those of"
        f" the {outcome.tenants_with_several_shards} tenants with several shards."
    )
