"""A request with the extension `cost` gets its own cost: calls, units and dollars."""

from dataclasses import replace
from typing import Any

import pytest

from keyfence.settings import PriceSettings
from tests.fakes.asgi_client import send_request
from tests.stack import ApiClient, ServiceStack
from tests.system.api.quota_server import QuotaServer

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "cost@x.example", name: "N"}) { id } }'


async def cost(client: ApiClient, query: str, extensions: Any) -> Any:
    answer = (await client.post({"query": query, "extensions": extensions})).json()
    return answer.get("extensions", {}).get("cost")


async def cost_and_calls(stack: ServiceStack, client: ApiClient, query: str) -> tuple[Any, int]:
    stack.take_calls()
    cost_extension = await cost(client, query, {"cost": True})
    return cost_extension, len(
        [call for call in stack.take_calls() if {"TableName", "RequestItems", "TransactItems"} & set(call.parameters)]
    )


@pytest.mark.one_engine  # moto reports one unit for the Query of an empty list
async def test_a_request_with_the_cost_extension_gets_calls_units_and_dollars(
    stack: ServiceStack, owner: ApiClient
) -> None:
    await owner.data(USERS)
    cost_extension, calls = await cost_and_calls(stack, owner, USERS)
    assert cost_extension["calls"] == calls == 2
    assert cost_extension["readUnits"] == 2.5, (
        "half a unit for the empty list, and two units for the check of the token"
    )
    assert cost_extension["writeUnits"] == 0
    assert cost_extension["usd"] == pytest.approx(2.5 * 0.125 / 1e6)


@pytest.mark.one_engine
async def test_the_cost_counts_writes_and_failed_calls(stack: ServiceStack, owner: ApiClient) -> None:
    await owner.data(USERS)
    cost_extension, calls = await cost_and_calls(stack, owner, CREATE)
    assert (cost_extension["calls"], cost_extension["readUnits"]) == (calls, 2)
    assert cost_extension["writeUnits"] > 6
    conflict_answer = (await owner.post({"query": CREATE, "extensions": {"cost": True}})).json()
    assert conflict_answer["errors"][0]["extensions"]["code"] == "CONFLICT"
    assert conflict_answer["extensions"]["cost"]["calls"] == 2


@pytest.mark.parametrize("extensions", [None, {}, {"cost": False}, {"cost": "true"}, {"cost": 1}, {"other": True}])
async def test_a_request_without_the_extension_gets_no_cost(owner: ApiClient, extensions: Any) -> None:
    answer = (await owner.post({"query": USERS, "extensions": extensions})).json()
    assert set(answer) == {"data"}


async def test_the_cost_has_no_calls_of_another_tenant(stack: ServiceStack) -> None:
    first, second = [stack.api_client(await stack.new_tenant(name)) for name in ("cost", "cost-1")]
    await first.data(USERS)
    await second.data(USERS)
    assert (await cost(first, USERS, {"cost": True}))["calls"] == 2


@pytest.mark.one_engine  # moto reports one unit for the Query of an empty list
async def test_the_cost_uses_the_prices_of_the_settings(stack: ServiceStack, owner: ApiClient) -> None:
    high_prices = PriceSettings.model_validate({"region": "x", "as_of": "2026-01-01", "read": 1_000_000, "write": 0})
    settings = stack.settings.model_copy(update={"prices": high_prices})
    client = replace(owner, application=stack.serve(settings=settings))
    assert (await cost(client, USERS, {"cost": True}))["usd"] == 2.5


async def test_metrics_count_units_and_refusals_by_quota_and_name_no_tenant(stack: ServiceStack) -> None:
    server = QuotaServer(stack=stack)
    client = await server.new_tenant_client("unnamed-tenant", requests_per_second=1)
    for _ in range(5):
        await client.execute(USERS)
    await server.flusher.flush()
    text = (await send_request(server.application, path="/metrics")).body.decode()
    assert 'keyfence_requests_over_quota_total{quota="requestsPerSecond"} 3' in text
    assert 'keyfence_usage_entries_total{outcome="written"} 2' in text
    assert f"keyfence_dynamodb_read_units_total {stack.tables.meter.read_units}" in text
    assert "unnamed-tenant" not in text
