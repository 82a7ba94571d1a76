"""How many examples of the model are tried and what they are drawn by: the same ones always, or what is asked for."""

import os
import random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, seed, settings

T = TypeVar("T")
SAME = settings(
    max_examples=10,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
"""As many as a run of all tests can wait for, in which a failure is shown as it was found."""


def examples() -> settings:
    """With KEYFENCE_MODEL_EXAMPLES in the environment so many, and one that fails is made smaller."""
    if (wanted := os.environ.get("KEYFENCE_MODEL_EXAMPLES")) is None:
        return SAME
    return settings(SAME, max_examples=int(wanted), derandomize=False, phases=[Phase.generate, Phase.shrink])


def drawn(machine: type[T]) -> type[T]:
    """By KEYFENCE_MODEL_SEED or by chance, and then the seed is printed, so that it can be given the next time."""
    if examples().derandomize:
        return machine
    number = int(os.environ.get("KEYFENCE_MODEL_SEED") or random.getrandbits(32))
    print(f"KEYFENCE_MODEL_SEED={number}")
    return seed(number)(machine)
