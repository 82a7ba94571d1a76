"""keyfence tenant list: the tenants, newest first."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_desk import Desk, Json
from keyfence.local.directory import DEFAULT
from keyfence.store.pagination import LARGEST
from keyfence.tenancy.lifecycle import TenantStatus

if TYPE_CHECKING:
    from keyfence.admin.context import Context
    from keyfence.tenancy.model import Tenant
    from keyfence.tenancy.repository import Register

HEADINGS = ("ID", "STATUS", "TIER", "CREATED", "NAME")
WIDTHS = (16, 12, 10, 16)

Status = Annotated[
    TenantStatus | None, typer.Option(case_sensitive=False, help="Only those who stand there; all if left out.")
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="The newest N; all if left out.")]


def list_(
    status: Status = None,
    limit: Limit = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """List tenants, newest first, page by page as they are read.

    [bold]Example:[/bold] keyfence tenant list

    [bold]Example:[/bold] keyfence tenant list --status suspended --limit 20

    [bold]Example:[/bold] keyfence tenant list --json | jq -r '.tenants[].id'
    """
    from keyfence.cli.tenant_json import echo, tenant_json

    async def work(desk: "Context") -> "list[Tenant]":
        found: list[Tenant] = []
        async for some in pages(desk.register, status, limit):
            if not json:
                _print(some, headed=not found)
            found += some
        return found

    found = Desk(data, endpoint_url).read(work)
    if json:
        echo({"tenants": [tenant_json(one) for one in found]})
    else:
        typer.echo(f"{len(found):,} {'tenant' if len(found) == 1 else 'tenants'}.", err=True)


async def pages(
    register: "Register", status: TenantStatus | None, limit: int | None
) -> "AsyncIterator[Sequence[Tenant]]":
    after, left = None, limit
    while True:
        page = await register.newest(status=status, first=min(LARGEST, left or LARGEST), after=after)
        yield page.items
        left = None if left is None else left - len(page.edges)
        if left == 0 or not page.has_next or not page.edges:
            return
        after = page.edges[-1].cursor()


def _print(tenants: "Sequence[Tenant]", *, headed: bool) -> None:
    from keyfence.cli.tenant_table import console, lay, minute, shown, status

    rows = [(one.id, status(one.status), one.tier, minute(one.created_at), shown(one.name)) for one in tenants]
    if rows:
        lay(console(), HEADINGS if headed else ("",) * len(HEADINGS), rows, widths=WIDTHS)
