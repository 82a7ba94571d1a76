"""A stale write is retried with a new read. Other conflicts are final."""

import pytest

from keyfence.errors import Conflict, Throttled
from keyfence.store.writes import STALE_WRITE_RETRIES, StaleWrite, retry_if_stale


class Attempts:
    """Raises the given errors and then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def test_a_stale_attempt_is_made_again() -> None:
    attempts = Attempts(StaleWrite(), StaleWrite())
    assert await retry_if_stale(attempts) == "done"
    assert attempts.count == 3


async def test_the_number_of_attempts_is_limited_for_a_stale_write() -> None:
    attempts = Attempts(*[StaleWrite()] * 100)
    with pytest.raises(Throttled) as raised:
        await retry_if_stale(attempts)
    assert attempts.count == STALE_WRITE_RETRIES.attempts
    assert raised.value.extensions["retryAfterMs"]


async def test_there_is_no_pause_after_the_last_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("keyfence.store.writes.asyncio.sleep", sleep)
    with pytest.raises(Throttled):
        await retry_if_stale(Attempts(*[StaleWrite()] * 100))
    assert len(pauses) == STALE_WRITE_RETRIES.attempts - 1


async def test_a_conflict_that_is_not_stale_is_not_retried() -> None:
    attempts = Attempts(Conflict("taken"))
    with pytest.raises(Conflict, match="taken"):
        await retry_if_stale(attempts)
    assert attempts.count == 1
