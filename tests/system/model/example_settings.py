"""Settings of hypothesis for the model: the same few examples in every run, or many random ones."""

from typing import TypeVar

from hypothesis import HealthCheck, Phase, seed, settings

from tests import tier
from tests.random_run import RandomRun

T = TypeVar("T")
SAME_EXAMPLES = settings(
    max_examples=tier.size(default=6, full=10),
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
"""The same examples in every run. A failing example is shown as it is, without a search for a shorter one."""


def examples(run: RandomRun) -> settings:
    """Returns SAME_EXAMPLES, or settings for as many random examples as the run has, with shrinking."""
    if run.is_same_each_time:
        return SAME_EXAMPLES
    return settings(SAME_EXAMPLES, max_examples=run.examples, derandomize=False, phases=[Phase.generate, Phase.shrink])


def seeded(machine: type[T], run: RandomRun) -> type[T]:
    """Seeds random examples with the seed of the run."""
    return machine if run.is_same_each_time else seed(run.seed)(machine)
