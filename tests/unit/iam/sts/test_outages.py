"""Without STS those who are served go on being served until their sessions end, and then nobody else's are used."""

import pytest

from keyfence_iam.sts.session_spec import SessionThrottled, SessionUnavailable, StsConnectionLost
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


@pytest.mark.parametrize("begins", range(0, 900, 45))
async def test_tenants_in_use_are_served_through_five_minutes_without_sts(begins: int) -> None:
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


async def test_a_session_that_has_ended_is_not_handed_out_however_long_sts_is_gone(stage: SessionCacheFixture) -> None:
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


async def test_a_new_tenant_fails_at_once_and_is_asked_for_again_a_second_later(stage: SessionCacheFixture) -> None:
    stage.sts.fail()
    for _ in range(100):
        with pytest.raises(SessionUnavailable):
            await stage.use(reads("acme"))
    assert len(stage.sts.requests) == 1
    stage.sts.recover()
    stage.clock.now += 1
    assert await stage.use(reads("acme"))


async def test_one_tenants_failure_is_not_anothers(stage: SessionCacheFixture) -> None:
    stage.sts.fail()
    with pytest.raises(SessionUnavailable):
        await stage.use(reads("acme"))
    stage.sts.recover()
    assert await stage.use(reads("globex"))


async def test_what_waited_for_its_turn_too_long_is_not_asked_of_sts(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    for number in range(20):
        stage.sessions._find(reads(f"t{number:02}"))
    while len(stage.sts.requests) < 8:
        pass
    stage.clock.now += 6
    stage.sts.open.set()
    stage.settle()
    assert len(stage.sts.requests) == 8
    assert stage.sessions.counts["failed"] == 12


async def test_an_error_that_nobody_expected_is_a_failure_like_others(stage: SessionCacheFixture) -> None:
    stage.sts.failure = ZeroDivisionError("of our own making")
    with pytest.raises(ZeroDivisionError):
        await stage.use(reads("acme"))
    with pytest.raises(SessionUnavailable, match="ZeroDivisionError: of our own making"):
        await stage.use(reads("acme"))
    stage.sts.recover()
    stage.clock.now += 1
    assert await stage.use(reads("acme"))


async def test_when_sts_is_too_busy_the_caller_hears_when_to_come_again(stage: SessionCacheFixture) -> None:
    stage.sts.failure = SessionThrottled("STS has too many callers just now", 1.0)
    for _ in range(2):
        with pytest.raises(SessionThrottled) as refused:
            await stage.use(reads("acme"))
        assert refused.value.retry_after == 1.0


@pytest.mark.parametrize(("rate", "asked"), [(5.0, 2), (0.5, 1)], ids=["in the budget", "beyond it"])
async def test_a_connection_that_was_closed_is_tried_once_more_out_of_the_budget(rate: float, asked: int) -> None:
    stage = session_cache(budget=call_budget(rate))
    stage.sts.failure = StsConnectionLost("STS cannot be reached: Connection was closed")
    with pytest.raises(StsConnectionLost):
        await stage.use(reads("acme"))
    assert stage.sts.requests == [reads("acme")] * asked


async def test_after_a_connection_that_was_closed_the_next_one_serves(stage: SessionCacheFixture) -> None:
    stage.sts.failure = StsConnectionLost("STS cannot be reached: Connection was closed")
    stage.sts.before_answering = lambda: stage.sts.recover() if len(stage.sts.requests) > 1 else None
    assert await stage.use(reads("acme"))
    assert len(stage.sts.requests) == 2


class Full:
    """A log on a disk without room."""

    def error(self, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")


async def test_a_log_that_cannot_be_written_leaves_nobody_waiting_for_a_fetch_that_is_over(
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


async def test_a_fetch_is_over_before_it_is_logged(stage: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way: list[int] = []

    class Seeing:
        def error(self, *_: object, **__: object) -> None:
            under_way.append(len(stage.sessions._pending))

    monkeypatch.setattr("keyfence_iam.sts.session_cache.log", Seeing())
    stage.sts.fail()
    stage.sts.open.clear()
    stage.sessions._find(reads("acme"))
    stage.sts.open.set()
    stage.settle()
    assert under_way == [0]


async def test_what_is_no_ordinary_exception_ends_a_fetch_too(stage: SessionCacheFixture) -> None:
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


async def test_a_fetch_is_over_also_where_its_outcome_cannot_be_noted(
    stage: SessionCacheFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> float:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(stage.sessions, "_random_share", broken)
        with pytest.raises(ZeroDivisionError):
            await stage.use(reads("acme"))
    assert await stage.use(reads("acme"))
