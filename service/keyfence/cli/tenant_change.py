"""A change of a tenant that stays: made at the desk, and told."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keyfence.cli.tenant_desk import Desk, checked_id
from keyfence.store.codec import attribute
from keyfence_iam.boundary import TenantId

if TYPE_CHECKING:
    from keyfence.admin.context import Context
    from keyfence.tenancy.model import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Of which tenant, by whom, and where."""

    id: str
    by: str | None
    data: Path
    endpoint_url: str | None
    json: bool

    def make(self, change: "Callable[[Context, TenantId], Awaitable[Tenant]]", told: "Callable[[Tenant], str]") -> None:
        tenant = checked_id(self.id)

        async def work(desk: "Context") -> "Tenant":
            return await change(desk, tenant)

        changed = Desk(self.data, self.endpoint_url).change(self.by, tenant, work)
        self._tell(changed, told(changed))

    def _tell(self, changed: "Tenant", told: str) -> None:
        from keyfence.cli.tenant_json import echo, tenant_json
        from keyfence.tenancy.registry import MAX_AGE

        if self.json:
            echo(tenant_json(changed))
        else:
            typer.echo(f"{told}\nServers that are running know it within {MAX_AGE:g} seconds.")


def allowance(tenant: "Tenant") -> str:
    return ", ".join(f"{attribute(name)} {value:,}" for name, value in asdict(tenant.quotas).items())
