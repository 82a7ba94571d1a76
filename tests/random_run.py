"""`RandomRun`: how many random cases a test runs and their seed. Environment variables can set both."""

import os
import random
from dataclasses import dataclass
from random import Random

SAME_SEED = 1
"""The seed of a run without environment variables. So every run has the same cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomRun:
    """The random cases of one run of a test."""

    variable: str
    """The environment variable that repeats this run."""
    examples: int
    seed: int
    is_same_each_time: bool

    @classmethod
    def from_environment(cls, name: str, examples: int) -> "RandomRun":
        """Returns the run that KEYFENCE_<name>_EXAMPLES and KEYFENCE_<name>_SEED describe.

        Without a seed but with a number of examples, the seed is new in every run. It is printed."""
        examples_text = os.environ.get(f"KEYFENCE_{name}_EXAMPLES")
        seed_text = os.environ.get(f"KEYFENCE_{name}_SEED")
        is_same = examples_text is None and seed_text is None
        run = cls(
            variable=f"KEYFENCE_{name}_SEED",
            examples=int(examples_text or examples),
            seed=SAME_SEED if is_same else int(seed_text or random.getrandbits(32)),
            is_same_each_time=is_same,
        )
        print(run)
        return run

    def __str__(self) -> str:
        return f"{self.variable}={self.seed}"

    def random_of(self, case: object) -> Random:
        """Returns the random numbers of one case. They do not depend on the cases before it."""
        return Random(f"{self.seed}/{case}")
