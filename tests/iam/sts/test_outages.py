"""During an outage of STS, cached sessions are used until they expire, and never those of another tenant."""

import pytest

from keyfence_iam.sts.session_spec import SessionThrottled, SessionUnavailable, StsConnectionLost
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


@pytest.mark.parametrize("begins", range(0, 900, 45))
async def test_sessions_in_use_last_through_five_minutes_without_sts(begins: int) -> None:
    stage = session_cache()
    for second in range(0, begins, 5):
        await stage.use(reads("acme" if second % 2 else "globex"))
        stage.advance(5)
    for tenant in ("acme", "globex"):
        await stage.use(reads(tenant))
    stage.sts.fail()
    for _ in range(60):
        assert await stage.use(reads("acme"))
        assert await stage.use(reads("globex"))
        stage.advance(5)
    stage.sts.recover()
    stage.advance(60)
    before = len(stage.sts.requests)
    assert await stage.use(reads("acme"))
    assert len(stage.sts.requests) == before, "it was renewed without a request and without a restart"


async def test_an_expired_session_is_never_given_out(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    stage.sts.fail()
    stage.advance(886)
    for _ in range(3):
        with pytest.raises(SessionUnavailable, match="STS cannot be reached"):
            await stage.use(reads("acme"))
        stage.advance(60)
    stage.sts.recover()
    stage.advance(2)
    assert await stage.use(reads("acme"))


async def test_a_failure_for_a_new_tenant_is_remembered_for_a_second(stage: SessionCacheFixture) -> None:
    stage.sts.fail()
    for _ in range(100):
        with pytest.raises(SessionUnavailable):
            await stage.use(reads("acme"))
    assert len(stage.sts.requests) == 1
    stage.sts.recover()
    stage.clock.now += 1
    assert await stage.use(reads("acme"))


async def test_a_failure_of_one_tenant_does_not_affect_another(stage: SessionCacheFixture) -> None:
    stage.sts.fail()
    with pytest.raises(SessionUnavailable):
        await stage.use(reads("acme"))
    stage.sts.recover()
    assert await stage.use(reads("globex"))


async def test_a_request_that_waited_too_long_is_not_sent_to_sts(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    for number in range(20):
        stage.sessions._find_or_request(reads(f"t{number:02}"))
    while len(stage.sts.requests) < 8:
        pass
    stage.clock.now += 6
    stage.sts.open.set()
    stage.settle()
    assert len(stage.sts.requests) == 8
    assert stage.sessions.counts["failed"] == 12


async def test_an_unexpected_error_counts_as_a_failure(stage: SessionCacheFixture) -> None:
    stage.sts.failure = ZeroDivisionError("of our own making")
    with pytest.raises(ZeroDivisionError):
        await stage.use(reads("acme"))
    with pytest.raises(SessionUnavailable, match="ZeroDivisionError: of our own making"):
        await stage.use(reads("acme"))
    stage.sts.recover()
    stage.clock.now += 1
    assert await stage.use(reads("acme"))


async def test_throttling_by_sts_is_passed_on_with_the_time_to_retry(stage: SessionCacheFixture) -> None:
    stage.sts.failure = SessionThrottled("STS has too many callers just now", 1.0)
    for _ in range(2):
        with pytest.raises(SessionThrottled) as refused:
            await stage.use(reads("acme"))
        assert refused.value.retry_after_seconds == 1.0


@pytest.mark.parametrize(("rate", "asked"), [(5.0, 2), (0.5, 1)], ids=["in the budget", "beyond it"])
async def test_a_lost_connection_is_retried_once_if_the_budget_allows(rate: float, asked: int) -> None:
    stage = session_cache(budget=call_budget(rate))
    stage.sts.failure = StsConnectionLost("STS cannot be reached: Connection was closed")
    with pytest.raises(StsConnectionLost):
        await stage.use(reads("acme"))
    assert stage.sts.requests == [reads("acme")] * asked


async def test_after_a_lost_connection_the_retry_succeeds(stage: SessionCacheFixture) -> None:
    stage.sts.failure = StsConnectionLost("STS cannot be reached: Connection was closed")
    stage.sts.before_answering = lambda: stage.sts.recover() if len(stage.sts.requests) > 1 else None
    assert await stage.use(reads("acme"))
    assert len(stage.sts.requests) == 2


class Full:
    """A log that cannot be written."""

    def error(self, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")


async def test_a_log_that_cannot_be_written_leaves_nobody_waiting(
    stage: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.sts.fail()
    with monkeypatch.context() as patched:
        patched.setattr("keyfence_iam.sts.session_cache.log", Full())
        with pytest.raises(SessionUnavailable, match="STS cannot be reached"):
            await stage.use(reads("acme"))
    stage.sts.recover()
    stage.clock.now += 1
    assert await stage.use(reads("acme"))


async def test_a_failed_request_is_no_longer_pending_when_it_is_logged(
    stage: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[int] = []

    class Seeing:
        def error(self, *_: object, **__: object) -> None:
            under_way.append(len(stage.sessions._pending))

    monkeypatch.setattr("keyfence_iam.sts.session_cache.log", Seeing())
    stage.sts.fail()
    stage.sts.open.clear()
    stage.sessions._find_or_request(reads("acme"))
    stage.sts.open.set()
    stage.settle()
    assert under_way == [0]


async def test_a_base_exception_ends_a_request_too(stage: SessionCacheFixture) -> None:
    class Ended(BaseException):
        pass

    def end() -> None:
        raise Ended

    stage.sts.before_answering = end
    with pytest.raises(Ended):
        await stage.use(reads("acme"))
    stage.sts.before_answering = lambda: None
    stage.clock.now += 1
    assert await stage.use(reads("acme"))


async def test_a_request_ends_also_if_its_outcome_cannot_be_stored(
    stage: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> float:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(stage.sessions, "_random_number", broken)
        with pytest.raises(ZeroDivisionError):
            await stage.use(reads("acme"))
    assert await stage.use(reads("acme"))
