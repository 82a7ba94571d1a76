"""Reading again and retrying when somebody else was faster and the caller named no version."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from service.store.write import Stale

T = TypeVar("T")
ATTEMPTS = 5


async def unless_stale(attempt: Callable[[], Awaitable[T]], expected_version: int | None = None) -> T:
    """A caller who named a version hears of the conflict at once; for the others a fresh read decides."""
    for _ in range(ATTEMPTS - 1 if expected_version is None else 0):
        try:
            return await attempt()
        except Stale:
            continue
    return await attempt()
