"""`RetryPolicy`: how often an operation is tried, and how long to wait between attempts.

`DynamoDbCaller.call` retries calls with it, `batches` retries unprocessed requests, and `writes` retries stale writes.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The maximum number of attempts, and the limits of the pauses between them.

    The defaults are for requests: the five pauses together take less than one second, so a client can wait for them."""

    attempts: int = 6
    first_pause_seconds: float = 0.025
    max_pause_seconds: float = 1.0

    def is_last(self, attempt: int) -> bool:
        """Whether no attempt follows this one, so that no pause is needed. Attempts are numbered from 0."""
        return attempt == self.attempts - 1

    def backoff_seconds(self, attempt: int) -> float:
        """Returns the pause after an attempt: a random time below a limit that doubles with each attempt."""
        longest = min(self.max_pause_seconds, self.first_pause_seconds * 2**attempt)
        return random.uniform(0, longest)  # noqa: S311


BACKGROUND_RETRIES = RetryPolicy(attempts=12, first_pause_seconds=0.05, max_pause_seconds=5.0)
"""The retries of jobs and imports. No client waits for a job or an import, so its calls can be retried until a
throttled table has capacity again."""
