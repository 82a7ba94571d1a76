"""During an outage of STS, cached sessions are used until they expire, and never those of another tenant."""

import pytest

from keyfence_iam.sts.session_spec import SessionRefused, SessionThrottled, SessionUnavailable, StsConnectionLost
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


@pytest.mark.parametrize("outage_begins_at", range(0, 900, 45))
async def test_sessions_in_use_stay_valid_during_an_outage_of_five_minutes(outage_begins_at: int) -> None:
    cache = session_cache()
    for second in range(0, outage_begins_at, 5):
        await cache.use(reads("acme" if second % 2 else "globex"))
        cache.advance(5)
    for tenant in ("acme", "globex"):
        await cache.use(reads(tenant))
    cache.sts.fail()
    for _ in range(60):
        assert await cache.use(reads("acme"))
        assert await cache.use(reads("globex"))
        cache.advance(5)
    cache.sts.recover()
    cache.advance(60)
    before = len(cache.sts.requests)
    assert await cache.use(reads("acme"))
    assert len(cache.sts.requests) == before, "the session was refreshed in the background"


async def test_an_expired_session_is_never_given_out(cache: SessionCacheFixture) -> None:
    await cache.use(reads("acme"))
    cache.sts.fail()
    cache.advance(886)
    for _ in range(3):
        with pytest.raises(SessionUnavailable, match="STS cannot be reached"):
            await cache.use(reads("acme"))
        cache.advance(60)
    cache.sts.recover()
    cache.advance(2)
    assert await cache.use(reads("acme"))


async def test_a_failure_for_a_new_tenant_is_cached_for_a_second(cache: SessionCacheFixture) -> None:
    cache.sts.fail()
    for _ in range(100):
        with pytest.raises(SessionUnavailable):
            await cache.use(reads("acme"))
    assert len(cache.sts.requests) == 1
    cache.sts.recover()
    cache.clock.now += 1
    assert await cache.use(reads("acme"))


async def test_a_failure_of_one_tenant_does_not_affect_another(cache: SessionCacheFixture) -> None:
    cache.sts.fail()
    with pytest.raises(SessionUnavailable):
        await cache.use(reads("acme"))
    cache.sts.recover()
    assert await cache.use(reads("globex"))


async def test_a_request_that_waited_too_long_for_a_thread_is_not_sent_to_sts(cache: SessionCacheFixture) -> None:
    cache.sts.may_answer.clear()
    for number in range(20):
        cache.sessions._find_or_request(reads(f"t{number:02}"))
    while len(cache.sts.requests) < 8:
        pass
    cache.clock.now += 6
    cache.sts.may_answer.set()
    cache.wait_for_sts()
    assert len(cache.sts.requests) == 8
    assert cache.sessions.counts["failed"] == 12


async def test_an_unexpected_error_counts_as_a_failure(cache: SessionCacheFixture) -> None:
    cache.sts.failure = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        await cache.use(reads("acme"))
    with pytest.raises(SessionRefused, match="ZeroDivisionError: a bug"):
        await cache.use(reads("acme"))
    cache.sts.recover()
    cache.clock.now += 1
    assert await cache.use(reads("acme"))


async def test_callers_get_the_time_to_retry_if_sts_throttles(cache: SessionCacheFixture) -> None:
    cache.sts.failure = SessionThrottled("STS has too many callers just now", 1.0)
    for _ in range(2):
        with pytest.raises(SessionThrottled) as error:
            await cache.use(reads("acme"))
        assert error.value.retry_after_seconds == 1.0


@pytest.mark.parametrize(("rate", "request_count"), [(5.0, 2), (0.5, 1)], ids=["in the budget", "beyond the budget"])
async def test_a_lost_connection_is_retried_once_if_the_budget_allows(rate: float, request_count: int) -> None:
    cache = session_cache(budget=call_budget(rate))
    cache.sts.failure = StsConnectionLost("STS cannot be reached: Connection was closed")
    with pytest.raises(StsConnectionLost):
        await cache.use(reads("acme"))
    assert cache.sts.requests == [reads("acme")] * request_count


async def test_after_a_lost_connection_the_retry_succeeds(cache: SessionCacheFixture) -> None:
    cache.sts.failure = StsConnectionLost("STS cannot be reached: Connection was closed")
    cache.sts.before_answering = lambda: cache.sts.recover() if len(cache.sts.requests) > 1 else None
    assert await cache.use(reads("acme"))
    assert len(cache.sts.requests) == 2


class FullDisk:
    """A log that cannot be written."""

    def error(self, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")


async def test_callers_get_the_failure_also_if_it_cannot_be_logged(
    cache: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.sts.fail()
    with monkeypatch.context() as patched:
        patched.setattr("keyfence_iam.sts.sts_health.log", FullDisk())
        with pytest.raises(SessionUnavailable, match="STS cannot be reached"):
            await cache.use(reads("acme"))
    cache.sts.recover()
    cache.clock.now += 1
    assert await cache.use(reads("acme"))


async def test_a_failed_request_is_no_longer_pending_when_it_is_logged(
    cache: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending_counts: list[int] = []

    class RecordingLog:
        def error(self, *_: object, **__: object) -> None:
            pending_counts.append(len(cache.sessions._pending))

    monkeypatch.setattr("keyfence_iam.sts.sts_health.log", RecordingLog())
    cache.sts.fail()
    cache.sts.may_answer.clear()
    cache.sessions._find_or_request(reads("acme"))
    cache.sts.may_answer.set()
    cache.wait_for_sts()
    assert pending_counts == [0]


async def test_a_request_that_raises_a_base_exception_is_no_longer_pending(cache: SessionCacheFixture) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt() -> None:
        raise Interrupted

    cache.sts.before_answering = interrupt
    with pytest.raises(Interrupted):
        await cache.use(reads("acme"))
    cache.sts.before_answering = lambda: None
    cache.clock.now += 1
    assert await cache.use(reads("acme"))


async def test_a_request_whose_outcome_cannot_be_stored_is_no_longer_pending(
    cache: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> float:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(cache.sessions, "_random_number", fail)
        with pytest.raises(ZeroDivisionError):
            await cache.use(reads("acme"))
    assert await cache.use(reads("acme"))
