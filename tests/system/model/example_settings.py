"""Settings of hypothesis for the model: the same few examples in every run, or many random ones."""

import os
import random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, seed, settings

from tests import tier

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


def examples() -> settings:
    """Returns SAME_EXAMPLES. If KEYFENCE_MODEL_EXAMPLES is set, returns that many random ones, with shrinking."""
    if (number := os.environ.get("KEYFENCE_MODEL_EXAMPLES")) is None:
        return SAME_EXAMPLES
    return settings(SAME_EXAMPLES, max_examples=int(number), derandomize=False, phases=[Phase.generate, Phase.shrink])


def seeded(machine: type[T]) -> type[T]:
    """Seeds random examples with KEYFENCE_MODEL_SEED. If it is not set, prints a new seed, which can repeat the run."""
    if examples().derandomize:
        return machine
    number = int(os.environ.get("KEYFENCE_MODEL_SEED") or random.getrandbits(32))
    print(f"KEYFENCE_MODEL_SEED={number}")
    return seed(number)(machine)
