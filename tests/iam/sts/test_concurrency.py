"""Callers that need the same session at the same time share one call to STS, also in different event loops."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from keyfence_iam.sts.session_refresh import RefreshSchedule
from keyfence_iam.sts.session_spec import SessionUnavailable
from tests.fakes.sts import SessionCacheFixture, reads, session_cache, writes


async def waiting_callers(cache: SessionCacheFixture, count: int) -> list["asyncio.Task[str]"]:
    """Starts callers and returns when all of them wait."""
    tasks = [asyncio.create_task(cache.use(reads("acme"))) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_many_callers_share_one_call_to_sts(cache: SessionCacheFixture) -> None:
    cache.sts.may_answer.clear()
    callers = await waiting_callers(cache, 50)
    cache.sts.may_answer.set()
    assert len(set(await asyncio.gather(*callers))) == 1
    assert cache.sts.requests == [reads("acme")]


async def test_callers_of_another_session_do_not_wait(cache: SessionCacheFixture) -> None:
    await cache.use(writes("acme"))
    cache.sts.may_answer.clear()
    (caller,) = await waiting_callers(cache, 1)
    assert await cache.use(writes("acme"))
    assert not caller.done()
    cache.sts.may_answer.set()
    await caller


def test_callers_in_many_event_loops_share_one_call_to_sts(cache: SessionCacheFixture) -> None:
    cache.sts.may_answer.clear()
    with ThreadPoolExecutor(8) as threads:
        callers = [threads.submit(lambda: asyncio.run(cache.use(reads("acme")))) for _ in range(8)]
        while not cache.sts.requests:
            pass
        cache.sts.may_answer.set()
        assert len({caller.result() for caller in callers}) == 1
    assert cache.sts.requests == [reads("acme")]


async def test_a_cancelled_caller_does_not_cancel_other_callers(cache: SessionCacheFixture) -> None:
    cache.sts.may_answer.clear()
    first, *others = await waiting_callers(cache, 3)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    cache.sts.may_answer.set()
    assert len(set(await asyncio.gather(*others))) == 1
    assert cache.sts.requests == [reads("acme")]


def test_an_event_loop_that_ends_while_a_caller_waits_logs_no_error(
    cache: SessionCacheFixture, caplog: pytest.LogCaptureFixture
) -> None:
    cache.sts.may_answer.clear()

    async def wait_and_end() -> None:
        await waiting_callers(cache, 1)

    asyncio.run(wait_and_end())
    cache.sts.may_answer.set()
    cache.wait_for_sts()
    assert asyncio.run(cache.use(reads("acme")))
    assert cache.sts.requests == [reads("acme")]
    cache.sessions._threads.shutdown(wait=True)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_all_waiting_callers_get_the_error(cache: SessionCacheFixture) -> None:
    cache.sts.may_answer.clear()
    cache.sts.fail()
    callers = await waiting_callers(cache, 5)
    cache.sts.may_answer.set()
    failures = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(failure) for failure in failures] == [SessionUnavailable] * 5
    assert len(cache.sts.requests) == 1


async def test_a_caller_that_times_out_does_not_cancel_the_call_to_sts() -> None:
    cache = session_cache(schedule=RefreshSchedule(max_wait_seconds=0.01))
    cache.sts.may_answer.clear()
    with pytest.raises(SessionUnavailable, match=r"has not answered within 0\.01 s"):
        await cache.use(reads("acme"))
    cache.sts.may_answer.set()
    cache.wait_for_sts()
    assert await cache.use(reads("acme"))
    assert len(cache.sts.requests) == 1


async def test_a_closed_cache_raises_session_unavailable(cache: SessionCacheFixture) -> None:
    cache.sessions.close()
    with pytest.raises(SessionUnavailable, match="the session cache is closed"):
        await cache.use(reads("acme"))
