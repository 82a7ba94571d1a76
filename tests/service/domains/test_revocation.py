"""How long the revocation check remembers that a token is not revoked."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.auth.claims import CLOCK_SKEW_SECONDS, MAX_TOKEN_LIFETIME_SECONDS
from keyfence.auth.principal import Principal, Role
from keyfence.domains.sessions import revocation as revocation_module
from keyfence.domains.sessions.revocation import (
    RevocationCheck,
    RevocationRepository,
    RevocationScope,
    ids_by_scope,
    new_revocation,
)
from keyfence.errors import Unauthenticated
from keyfence_iam.tenant import TenantId


def principal(
    jti: str | None, *, tenant: str = "acme", subject: str = "ann", issued_at: int = 0, sid: str | None = None
) -> Principal:
    return Principal(
        tenant=TenantId(tenant),
        subject=subject,
        role=Role.MEMBER,
        token_id=jti,
        issued_at=issued_at,
        expires_at=3600,
        session_id=sid,
    )


@dataclass
class FakeRepository:
    """Knows which tokens are revoked, counts the reads, and has a clock that tests set."""

    revoked: set[str] = field(default_factory=set)
    reads: int = 0
    now: float = 0.0

    async def is_revoked(self, principal: Principal) -> bool:
        self.reads += 1
        return bool(set(ids_by_scope(principal).values()) & self.revoked)

    def new_check(self, seconds: float) -> RevocationCheck:
        return RevocationCheck(seconds, clock=lambda: self.now)

    def as_repository(self) -> RevocationRepository:
        untyped: Any = self
        return cast("RevocationRepository", untyped)


async def test_without_remembering_every_request_reads_the_table() -> None:
    repository = FakeRepository()
    check = repository.new_check(0)
    for _ in range(3):
        await check.check(principal("a"), repository.as_repository, may_write=False)
    assert repository.reads == 3


async def test_a_revocation_is_noticed_when_the_remembered_time_is_over() -> None:
    repository = FakeRepository()
    check = repository.new_check(5)
    await check.check(principal("a"), repository.as_repository, may_write=False)
    repository.revoked.add("a")
    repository.now = 4.9
    await check.check(principal("a"), repository.as_repository, may_write=False)
    repository.now = 5.0
    with pytest.raises(Unauthenticated):
        await check.check(principal("a"), repository.as_repository, may_write=False)
    assert repository.reads == 2


async def test_a_revoked_token_is_checked_again_each_time() -> None:
    repository = FakeRepository({"a"})
    check = repository.new_check(5)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await check.check(principal("a"), repository.as_repository, may_write=False)
    repository.revoked.clear()
    await check.check(principal("a"), repository.as_repository, may_write=False)


async def test_a_request_that_writes_does_not_rely_on_the_memory() -> None:
    repository = FakeRepository()
    check = repository.new_check(5)
    await check.check(principal("a"), repository.as_repository, may_write=False)
    repository.revoked.add("a")
    await check.check(principal("a"), repository.as_repository, may_write=False)
    for may_write in (True, False):
        with pytest.raises(Unauthenticated):
            await check.check(principal("a"), repository.as_repository, may_write=may_write)


async def test_tenants_do_not_share_remembered_tokens() -> None:
    repository = FakeRepository()
    check = repository.new_check(5)
    await check.check(principal("a"), repository.as_repository, may_write=False)
    repository.revoked.add("a")
    with pytest.raises(Unauthenticated):
        await check.check(principal("a", tenant="globex"), repository.as_repository, may_write=False)


@pytest.mark.parametrize(
    "other",
    [principal("a", subject="bob"), principal("a", issued_at=1), principal("a", sid="login")],
    ids=["another subject", "another time", "another login"],
)
async def test_tokens_with_the_same_jti_are_remembered_separately(other: Principal) -> None:
    repository = FakeRepository()
    check = repository.new_check(5)
    await check.check(principal("a"), repository.as_repository, may_write=False)
    repository.revoked.add("a")
    with pytest.raises(Unauthenticated):
        await check.check(other, repository.as_repository, may_write=False)


async def test_the_number_of_remembered_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revocation_module, "MAX_REMEMBERED_TOKENS", 3)
    repository = FakeRepository()
    check = repository.new_check(5)
    for number in range(10):
        await check.check(principal(str(number)), repository.as_repository, may_write=False)
    assert len(check._valid_until) == 3


@pytest.mark.parametrize("scope", RevocationScope)
@given(
    now=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    lifetime_seconds=st.integers(0, MAX_TOKEN_LIFETIME_SECONDS),
)
def test_a_revocation_outlives_every_token_that_was_issued_before_it(
    scope: RevocationScope, now: datetime, lifetime_seconds: int
) -> None:
    revocation = new_revocation(scope, "a", "somebody", now)
    issued_at = int(now.timestamp())
    last_use = now + timedelta(seconds=CLOCK_SKEW_SECONDS + lifetime_seconds + CLOCK_SKEW_SECONDS)
    assert revocation.revokes(issued_at, last_use)
    assert not revocation.revokes(issued_at, now + timedelta(seconds=MAX_TOKEN_LIFETIME_SECONDS + 60))


@given(st.integers(-3, 3))
def test_only_tokens_issued_until_the_revocation_of_a_subject_are_ended(seconds: int) -> None:
    now = datetime(2030, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC)
    issued_at = int(now.timestamp()) + seconds
    assert new_revocation(RevocationScope.SUB, "ann", "somebody", now).revokes(issued_at, now) == (seconds <= 0)
    assert new_revocation(RevocationScope.JTI, "a", "somebody", now).revokes(issued_at, now)
    assert new_revocation(RevocationScope.SID, "login", "somebody", now).revokes(issued_at, now)


def test_a_token_is_revoked_by_every_id_that_it_has() -> None:
    assert ids_by_scope(principal("a", sid="login")) == {"JTI": "a", "SID": "login", "SUB": "ann"}
    assert ids_by_scope(principal("a")) == {"JTI": "a", "SUB": "ann"}
    assert ids_by_scope(principal(None, sid="login")) == {"SID": "login", "SUB": "ann"}
    assert ids_by_scope(principal(None)) == {"SUB": "ann"}


async def test_tokens_without_a_jti_are_remembered_by_their_login() -> None:
    repository = FakeRepository()
    check = repository.new_check(5)
    await check.check(principal(None, sid="first"), repository.as_repository, may_write=False)
    repository.revoked.add("second")
    with pytest.raises(Unauthenticated):
        await check.check(principal(None, sid="second"), repository.as_repository, may_write=False)
    await check.check(principal(None, sid="first"), repository.as_repository, may_write=False)
    assert repository.reads == 2
