"""Of two concurrent publishers, neither undoes the suspension of the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from keyfence.tenancy.suspensions import SuspensionList, SuspensionPublisher
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
A, B = TenantId("a1"), TenantId("a10")


def suspension_list(*tenants: TenantId) -> SuspensionList:
    return SuspensionList(
        suspended_at_by_tenant=dict.fromkeys(tenants, NOW), created_at=NOW, updated_at=NOW, version=len(tenants)
    )


@dataclass(slots=True)
class ConcurrentList:
    """A stored list that another publisher changes and publishes while the first publisher writes to IAM."""

    current: SuspensionList | None
    later_versions: list[SuspensionList] = field(default_factory=list)
    denied_by_iam: Sequence[TenantId] = ()

    async def find(self, _: object) -> SuspensionList | None:
        return self.current

    async def publish_to_iam(self, tenants: Sequence[TenantId]) -> None:
        if self.later_versions:
            self.current = self.later_versions.pop()
            self.denied_by_iam = self.current.tenants
        self.denied_by_iam = tenants

    def publisher(self) -> SuspensionPublisher:
        return SuspensionPublisher(cast("Any", self), self.publish_to_iam)


async def test_a_list_that_changed_during_its_publication_is_published_again() -> None:
    stored = ConcurrentList(suspension_list(A), later_versions=[suspension_list(A, B)])
    await stored.publisher().publish()
    assert list(stored.denied_by_iam) == [A, B]
