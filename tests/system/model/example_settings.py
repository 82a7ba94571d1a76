"""How many examples of the model are tried: the same few in every run, or as many random ones as the caller sets."""

import os
import random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, seed, settings

from tests import tier

T = TypeVar("T")
SAME = settings(
    max_examples=tier.size(default=6, full=10),
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
"""The same examples in every run. A failure is shown as it was found, without a search for a smaller one."""


def examples() -> settings:
    """Returns SAME, or random examples in the number of KEYFENCE_MODEL_EXAMPLES, with shrinking."""
    if (wanted := os.environ.get("KEYFENCE_MODEL_EXAMPLES")) is None:
        return SAME
    return settings(SAME, max_examples=int(wanted), derandomize=False, phases=[Phase.generate, Phase.shrink])


def seeded(machine: type[T]) -> type[T]:
    """Seeds random examples with KEYFENCE_MODEL_SEED, or with a number that it prints, to repeat a run."""
    if examples().derandomize:
        return machine
    number = int(os.environ.get("KEYFENCE_MODEL_SEED") or random.getrandbits(32))
    print(f"KEYFENCE_MODEL_SEED={number}")
    return seed(number)(machine)
