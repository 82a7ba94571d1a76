"""An operator allows origins of web pages for one tenant, and takes them back."""

from dataclasses import replace
from typing import Any

import pytest

from tests.stack import ApiClient, ServiceStack

SET = "mutation($id: ID!, $origins: [String!]!) { setOrigins(id: $id, origins: $origins) { origins } }"
TENANT = "query($id: ID!) { tenant(id: $id) { origins events { edges { node { kind detail } } } } }"
APP = "https://app.acme.example"


async def status_from(client: ApiClient, origin: str) -> int:
    return (await client.post({"query": "{ viewer { role } }"}, origin=origin)).status_code


def with_tenant_origins(stack: ServiceStack, client: ApiClient, **changes: Any) -> ApiClient:
    settings = stack.settings.model_copy(update={"tenant_origins": True, "tenant_cache_seconds": 0.001, **changes})
    return replace(client, application=stack.serve(settings=settings))


async def test_origins_belong_to_one_tenant_and_can_be_replaced(stack: ServiceStack, owner: ApiClient) -> None:
    operator = stack.operator_client()
    acme = with_tenant_origins(stack, owner)
    neighbour = replace(acme, token=stack.api_client(await stack.new_tenant()).token)
    assert await status_from(acme, APP) == 403
    answer = await operator.data(SET, id=owner.tenant, origins=[APP, "https://beta.acme.example:8443"])
    assert answer["setOrigins"]["origins"] == [APP, "https://beta.acme.example:8443"]
    assert [await status_from(acme, APP), await status_from(neighbour, APP)] == [200, 403]
    assert await status_from(acme, f"{APP}.evil.example") == 403
    await operator.data(SET, id=owner.tenant, origins=[])
    assert await status_from(acme, APP) == 403
    tenant = (await operator.data(TENANT, id=owner.tenant))["tenant"]
    assert tenant["origins"] == []
    newest_event = tenant["events"]["edges"][0]["node"]
    assert newest_event == {"kind": "tenant.origins_changed", "detail": {"origins": []}}


async def test_origins_of_tenants_have_no_effect_unless_the_settings_say_so(
    stack: ServiceStack, owner: ApiClient
) -> None:
    await stack.operator_client().data(SET, id=owner.tenant, origins=[APP])
    assert await status_from(with_tenant_origins(stack, owner, tenant_origins=False), APP) == 403
    assert await status_from(with_tenant_origins(stack, owner), APP) == 200


@pytest.mark.parametrize(
    "origin",
    ["http://app.example", "https://app.example/", "https://App.example", "https://app.example:443", "*", "null", ""],
)
async def test_an_origin_that_no_browser_sends_is_refused(stack: ServiceStack, owner: ApiClient, origin: str) -> None:
    (error,) = (await stack.operator_client().execute(SET, id=owner.tenant, origins=[origin]))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "origins")


async def test_a_tenant_can_have_twenty_origins(stack: ServiceStack, owner: ApiClient) -> None:
    origins = [f"https://app{number}.example" for number in range(21)]
    operator = stack.operator_client()
    assert len((await operator.data(SET, id=owner.tenant, origins=origins[:20]))["setOrigins"]["origins"]) == 20
    assert await operator.error_code(SET, id=owner.tenant, origins=origins) == "BAD_USER_INPUT"
