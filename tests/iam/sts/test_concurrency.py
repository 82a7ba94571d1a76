"""Simultaneous callers of one session, in any event loops, share one call to STS."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from keyfence_iam.sts.session_refresh import RefreshSchedule
from keyfence_iam.sts.session_spec import SessionUnavailable
from tests.fakes.sts import SessionCacheFixture, reads, session_cache, writes


async def waiting(stage: SessionCacheFixture, number: int) -> list["asyncio.Task[str]"]:
    """Starts callers and returns when all of them wait."""
    tasks = [asyncio.create_task(stage.use(reads("acme"))) for _ in range(number)]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_many_callers_share_one_call_to_sts(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    callers = await waiting(stage, 50)
    stage.sts.open.set()
    assert len(set(await asyncio.gather(*callers))) == 1
    assert stage.sts.requests == [reads("acme")]


async def test_other_specs_do_not_wait_for_it(stage: SessionCacheFixture) -> None:
    await stage.use(writes("acme"))
    stage.sts.open.clear()
    (caller,) = await waiting(stage, 1)
    assert await stage.use(writes("acme"))
    assert not caller.done()
    stage.sts.open.set()
    await caller


def test_callers_in_many_event_loops_share_one_call_to_sts(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    with ThreadPoolExecutor(8) as threads:
        callers = [threads.submit(lambda: asyncio.run(stage.use(reads("acme")))) for _ in range(8)]
        while not stage.sts.requests:
            pass
        stage.sts.open.set()
        assert len({caller.result() for caller in callers}) == 1
    assert stage.sts.requests == [reads("acme")]


async def test_a_cancelled_caller_cancels_nobody_else(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    first, *others = await waiting(stage, 3)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    stage.sts.open.set()
    assert len(set(await asyncio.gather(*others))) == 1
    assert stage.sts.requests == [reads("acme")]


def test_an_event_loop_that_ends_while_a_caller_waits_leaves_no_error(
    stage: SessionCacheFixture, caplog: pytest.LogCaptureFixture
) -> None:
    stage.sts.open.clear()

    async def leave() -> None:
        await waiting(stage, 1)

    asyncio.run(leave())
    stage.sts.open.set()
    stage.settle()
    assert asyncio.run(stage.use(reads("acme")))
    assert stage.sts.requests == [reads("acme")]
    stage.sessions._threads.shutdown(wait=True)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_all_waiting_callers_get_the_failure(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    stage.sts.fail()
    callers = await waiting(stage, 5)
    stage.sts.open.set()
    failures = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(failure) for failure in failures] == [SessionUnavailable] * 5
    assert len(stage.sts.requests) == 1


async def test_a_caller_that_times_out_does_not_stop_the_call() -> None:
    impatient = session_cache(schedule=RefreshSchedule(max_wait_seconds=0.01))
    impatient.sts.open.clear()
    with pytest.raises(SessionUnavailable, match=r"has not answered within 0\.01 s"):
        await impatient.use(reads("acme"))
    impatient.sts.open.set()
    impatient.settle()
    assert await impatient.use(reads("acme"))
    assert len(impatient.sts.requests) == 1


async def test_a_closed_cache_raises_and_nobody_hangs(stage: SessionCacheFixture) -> None:
    stage.sessions.close()
    with pytest.raises(SessionUnavailable, match="the session cache is closed"):
        await stage.use(reads("acme"))
