"""Reading again and retrying when somebody else was faster and the caller named no version."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from keyfence.errors import Throttled
from keyfence.store.dynamodb.errors import RETRY_AFTER_MS
from keyfence.store.write import Stale

T = TypeVar("T")
ATTEMPTS = 10
FIRST_PAUSE = 0.005
LONGEST_PAUSE = 0.5


def pause(tries: int) -> float:
    """Seconds, left to chance up to a ceiling that doubles with every try."""
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**tries))  # noqa: S311


async def unless_stale(attempt: Callable[[], Awaitable[T]], expected_version: int | None = None) -> T:
    """A caller who named a version hears of the conflict at once; for the others a fresh read decides."""
    if expected_version is not None:
        return await attempt()
    for tries in range(ATTEMPTS):
        try:
            return await attempt()
        except Stale:
            await asyncio.sleep(pause(tries))
    raise Throttled("others are changing the same thing just now; retry shortly", retryAfterMs=RETRY_AFTER_MS)
