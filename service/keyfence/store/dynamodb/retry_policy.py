"""`RetryPolicy`: how often a call is tried, and the pauses between its attempts."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and how long the pauses between attempts can be, in seconds."""

    attempts: int = 6
    first_pause_seconds: float = 0.025
    max_pause_seconds: float = 1.0

    def backoff(self, attempt: int) -> float:
        """Returns the pause after an attempt, counted from 0: random, up to a limit that doubles with every attempt."""
        return random.uniform(0, min(self.max_pause_seconds, self.first_pause_seconds * 2**attempt))  # noqa: S311


BACKGROUND_RETRIES = RetryPolicy(attempts=12, first_pause_seconds=0.05, max_pause_seconds=5.0)
"""For work that no client waits for, such as jobs and imports."""
