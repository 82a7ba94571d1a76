"""How long the revocation check remembers that a token is not revoked."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.auth.claims import CLOCK_SKEW_SECONDS, MAX_TOKEN_LIFETIME_SECONDS
from keyfence.domains.sessions import revocation as standing
from keyfence.domains.sessions.revocation import RevocationCheck, RevocationRepository, new_revocation
from keyfence.errors import Unauthenticated
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")


@dataclass
class Register:
    """Says which tokens are revoked, and counts how often it was asked."""

    revoked: set[str] = field(default_factory=set)
    asked: int = 0
    now: float = 0.0

    async def is_revoked(self, jti: str) -> bool:
        self.asked += 1
        return jti in self.revoked

    def standing(self, seconds: float) -> RevocationCheck:
        return RevocationCheck(seconds, clock=lambda: self.now)

    def sessions(self) -> RevocationRepository:
        anybody: Any = self
        return cast("RevocationRepository", anybody)


async def test_without_remembering_every_request_reads_the_table() -> None:
    register = Register()
    checks = register.standing(0)
    for _ in range(3):
        await checks.check(ACME, "a", register.sessions)
    assert register.asked == 3


async def test_a_revocation_is_noticed_when_the_remembered_time_is_over() -> None:
    register = Register()
    checks = register.standing(5)
    await checks.check(ACME, "a", register.sessions)
    register.revoked.add("a")
    register.now = 4.9
    await checks.check(ACME, "a", register.sessions)
    register.now = 5.0
    with pytest.raises(Unauthenticated):
        await checks.check(ACME, "a", register.sessions)
    assert register.asked == 2


async def test_a_revoked_token_is_checked_again_each_time() -> None:
    register = Register({"a"})
    checks = register.standing(5)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await checks.check(ACME, "a", register.sessions)
    register.revoked.clear()
    await checks.check(ACME, "a", register.sessions)


async def test_tenants_do_not_share_remembered_tokens() -> None:
    register = Register()
    checks = register.standing(5)
    await checks.check(ACME, "a", register.sessions)
    register.revoked.add("a")
    with pytest.raises(Unauthenticated):
        await checks.check(TenantId("globex"), "a", register.sessions)


async def test_the_number_of_remembered_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "MAX_REMEMBERED", 3)
    register = Register()
    checks = register.standing(5)
    for number in range(10):
        await checks.check(ACME, str(number), register.sessions)
    assert len(checks._valid_until) == 3


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.integers(0, MAX_TOKEN_LIFETIME_SECONDS),
)
def test_a_revocation_outlives_every_token_that_was_issued_before_it(now: datetime, life: int) -> None:
    revocation = new_revocation("a", "somebody", now)
    last_use = now + timedelta(seconds=CLOCK_SKEW_SECONDS + life + CLOCK_SKEW_SECONDS)
    assert revocation.is_effective(last_use)
    assert not revocation.is_effective(now + timedelta(seconds=MAX_TOKEN_LIFETIME_SECONDS + 60))
