"""Of two who publish at once, none undoes the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from keyfence.tenancy.suspensions import SuspensionList, SuspensionPublisher
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
A, B = TenantId("a1"), TenantId("a10")


def listed(*tenants: TenantId) -> SuspensionList:
    return SuspensionList(since=dict.fromkeys(tenants, NOW), created_at=NOW, updated_at=NOW, version=len(tenants))


@dataclass(slots=True)
class Register:
    """A list that somebody else adds to and publishes while the first one is being published."""

    now: SuspensionList | None
    later: list[SuspensionList] = field(default_factory=list)
    fence: Sequence[TenantId] = ()

    async def find(self, _: object) -> SuspensionList | None:
        return self.now

    async def shut(self, tenants: Sequence[TenantId]) -> None:
        if self.later:
            self.now = self.later.pop()
            self.fence = self.now.tenants
        self.fence = tenants

    def suspensions(self) -> SuspensionPublisher:
        return SuspensionPublisher(cast("Any", self), self.shut)


async def test_who_was_overtaken_while_publishing_publishes_what_is_newest() -> None:
    register = Register(listed(A), later=[listed(A, B)])
    await register.suspensions().publish()
    assert list(register.fence) == [A, B]
