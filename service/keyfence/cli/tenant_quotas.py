"""keyfence tenant quotas: what is agreed with one tenant alone."""

from typing import Annotated

import typer

from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_change import Change, allowance
from keyfence.cli.tenant_desk import Id, Json
from keyfence.cli.tenant_operator import By
from keyfence.errors import BadInput
from keyfence.local.directory import DEFAULT
from keyfence.tenancy.quotas import LARGEST

Quota = Annotated[int | None, typer.Option(min=1, max=LARGEST, metavar="N", show_default=False)]


def quotas(
    id: Id,
    requests_per_second: Quota = None,
    read_units_per_second: Quota = None,
    write_units_per_second: Quota = None,
    users: Quota = None,
    storage_mb: Quota = None,
    by: By = None,
    json: Json = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Agree on quotas with one tenant alone, whatever its tier. What is left out stays as it is.

    [bold]Example:[/bold] keyfence tenant quotas acme --requests-per-second 500 --users 2000
    """
    named = {
        "requests_per_second": requests_per_second,
        "read_units_per_second": read_units_per_second,
        "write_units_per_second": write_units_per_second,
        "users": users,
        "storage_mb": storage_mb,
    }
    given = {name: value for name, value in named.items() if value is not None}
    if not given:
        raise BadInput(f"Name at least one quota, such as --users 2000. `keyfence tenant show {id}` shows them.")
    Change(id=id, by=by, data=data, endpoint_url=endpoint_url, json=json).make(
        lambda desk, tenant: desk.standing.set_quotas(tenant, given),
        lambda one: f"{one.id} may use {allowance(one)}.",
    )
