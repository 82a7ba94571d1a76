"""A tenant's quotas are enforced before any call to DynamoDB, without effect on other tenants."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.tenancy.repository import TenantRepository
from tests.isolation.root_fields import root_field_calls
from tests.stack import ApiClient, ServiceStack
from tests.system.api.quota_server import QuotaServer

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'
CREATE_GROUP = 'mutation($name: String = "g") { createGroup(input: {name: $name}) { id } }'
DELETE_GROUP = "mutation($id: ID!) { deleteGroup(id: $id) }"


@pytest.fixture
def server(stack: ServiceStack) -> QuotaServer:
    return QuotaServer(stack=stack)


async def status_and_error(client: ApiClient, query: str = USERS) -> tuple[int, dict[str, Any]]:
    """Returns the status, and the extensions of the first error."""
    answer = await client.post({"query": query})
    errors = answer.json().get("errors", [])
    return answer.status_code, errors[0]["extensions"] if errors else {}


async def test_requests_over_the_quota_are_throttled_without_any_call_and_served_later(
    stack: ServiceStack, server: QuotaServer
) -> None:
    client = await server.new_tenant_client(requests_per_second=2)
    assert [(await status_and_error(client))[0] for _ in range(4)] == [200] * 4
    stack.take_calls()
    answer = await client.post({"query": USERS})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "THROTTLED", "quota": "requestsPerSecond", "retryAfterMs": 500}
    assert "2 requests a second" in error["message"]
    assert stack.take_calls() == []
    server.clock.now += 0.5
    assert await status_and_error(client) == (200, {})
    assert (await status_and_error(client))[0] == 429


async def test_another_tenant_with_the_same_tier_and_prefix_is_not_throttled(
    server: QuotaServer,
) -> None:
    noisy = await server.new_tenant_client("quota-acme", requests_per_second=1)
    quiet = await server.new_tenant_client("quota-acme-1", requests_per_second=1)
    assert [(await status_and_error(noisy))[0] for _ in range(5)] == [200, 200, 429, 429, 429]
    assert [(await status_and_error(quiet))[0] for _ in range(2)] == [200, 200]


async def test_exactly_the_quota_of_concurrent_requests_passes(server: QuotaServer) -> None:
    client = await server.new_tenant_client(requests_per_second=5)
    results = await asyncio.gather(*(status_and_error(client) for _ in range(40)))
    assert sorted(status for status, _ in results) == [200] * 10 + [429] * 30


async def test_servers_share_a_quota(stack: ServiceStack, server: QuotaServer) -> None:
    fleet = [QuotaServer(stack=stack, clock=server.clock, servers=4) for _ in range(4)]
    client = await server.new_tenant_client(requests_per_second=8)
    results = [await status_and_error(server_of_fleet.client(client)) for server_of_fleet in fleet for _ in range(6)]
    assert [status for status, _ in results].count(200) == 16


async def test_consumed_read_units_delay_the_next_request(stack: ServiceStack, server: QuotaServer) -> None:
    client = await server.new_tenant_client(read_units_per_second=1)
    while (await status_and_error(client))[0] == 200:
        pass
    stack.take_calls()
    status, error = await status_and_error(client)
    assert (status, error["code"], error["quota"]) == (429, "THROTTLED", "readUnitsPerSecond")
    assert stack.take_calls() == []
    (usage_hour,) = [
        entry.usage_hour() for entry in server.admission.ledger.unwritten_entries() if entry.tenant == client.tenant
    ]
    assert 2 < sum(entry.read_units for entry in usage_hour.operations.values()) < 5
    server.clock.now += error["retryAfterMs"] / 1000
    assert await status_and_error(client) == (200, {})


async def test_consumed_write_units_delay_the_next_write_but_no_read(stack: ServiceStack, server: QuotaServer) -> None:
    """The test charges the units itself, because moto does not report the units of transactions."""
    client = await server.new_tenant_client(write_units_per_second=10)
    assert await status_and_error(client, CREATE) == (200, {})
    admitted_request = server.admission.admit(await tenant_of(server, client))
    admitted_request.add(ConsumedCapacity("TransactWriteItems", 0.0, 120.0))
    stack.take_calls()
    status, error = await status_and_error(client, CREATE_GROUP)
    assert (status, error["code"], error["quota"]) == (429, "THROTTLED", "writeUnitsPerSecond")
    assert stack.take_calls() == []
    assert await status_and_error(client) == (200, {})
    server.clock.now += error["retryAfterMs"] / 1000
    assert await status_and_error(client, CREATE_GROUP) == (200, {})


def expensive_document(number: int) -> str:
    """Returns a document that is new to the server, and whose validation takes several milliseconds."""
    fields = " ".join("users { edges { node { id } } pageInfo { hasNextPage } }" for _ in range(28))
    return f"{{ {fields} }} # {number}"


async def test_the_cpu_time_of_expensive_documents_delays_the_next_request(
    stack: ServiceStack, server: QuotaServer
) -> None:
    client = await server.new_tenant_client(cpu_ms_per_second=1)
    status, error, number = 200, dict[str, Any](), 0
    while status == 200 and number < 100:
        stack.take_calls()
        number += 1
        status, error = await status_and_error(client, expensive_document(number))
    assert (status, error["code"], error["quota"]) == (429, "THROTTLED", "cpuMsPerSecond")
    assert stack.take_calls() == []
    server.clock.now += error["retryAfterMs"] / 1000
    assert await status_and_error(client) == (200, {})


async def test_the_cpu_time_of_an_invalid_document_is_charged_too(server: QuotaServer) -> None:
    client = await server.new_tenant_client(cpu_ms_per_second=1)
    statuses = [
        (await status_and_error(client, f"{{ {' '.join(f'x{field}' for field in range(900))} }} # {number}"))[0]
        for number in range(100)
    ]
    assert 429 in statuses


async def test_a_tenant_that_sends_too_many_new_documents_is_served_the_known_ones(server: QuotaServer) -> None:
    client = await server.new_tenant_client()
    answers = [await status_and_error(client, f"{{ viewer {{ role }} }} # {number}") for number in range(201)]
    assert answers[:200] == [(200, {})] * 200
    status, error = answers[200]
    assert (status, error["code"], error["quota"]) == (429, "THROTTLED", "newDocumentsPerSecond")
    assert await status_and_error(client, "{ viewer { role } } # 0") == (200, {})


async def tenant_of(server: QuotaServer, client: ApiClient) -> Any:
    return await TenantRepository(server.stack.tables.for_control_plane(may_write=False), "the-tests").get(
        client.tenant
    )


@pytest.mark.one_engine
async def test_the_units_of_a_write_are_charged(server: QuotaServer) -> None:
    client = await server.new_tenant_client(write_units_per_second=1)
    assert await status_and_error(client, CREATE) == (200, {})
    status, error = await status_and_error(client, CREATE_GROUP)
    assert (status, error["quota"]) == (429, "writeUnitsPerSecond")
    assert error["retryAfterMs"] > 2_000


async def test_a_changed_quota_holds_when_the_tenant_is_read_again(stack: ServiceStack, server: QuotaServer) -> None:
    client = await server.new_tenant_client(requests_per_second=1)
    assert [(await status_and_error(client))[0] for _ in range(3)] == [200, 200, 429]
    operator = server.client(stack.operator_client())
    await operator.data("mutation($id: ID!) { setQuotas(id: $id, requestsPerSecond: 100) { id } }", id=client.tenant)
    assert (await status_and_error(client))[0] == 429, "a higher rate does not fill the bucket at once"
    server.clock.now += 0.0625
    assert (await status_and_error(client))[0] == 200


async def test_a_request_with_a_bad_token_costs_its_tenant_nothing(server: QuotaServer) -> None:
    client = await server.new_tenant_client(requests_per_second=1)
    forged = replace(client, token=client.token[:-6] + "AAAAAA")
    assert [(await status_and_error(forged))[0] for _ in range(5)] == [401] * 5
    assert [(await status_and_error(client))[0] for _ in range(2)] == [200] * 2


async def test_malformed_requests_count_as_requests(server: QuotaServer) -> None:
    client = await server.new_tenant_client(requests_per_second=1)
    assert [(await status_and_error(client, "{"))[0] for _ in range(3)] == [200, 200, 429]


async def test_a_tenant_with_full_storage_can_read_and_delete_but_not_add(server: QuotaServer) -> None:
    client_with_space = await server.new_tenant_client(storage_mb=1, stored_bytes=999_999)
    group = (await client_with_space.data(CREATE_GROUP))["createGroup"]["id"]
    full = await server.new_tenant_client(storage_mb=1, stored_bytes=1_000_000)
    (error,) = (await full.execute(CREATE_GROUP))["errors"]
    assert error["extensions"] == {"code": "QUOTA_EXCEEDED", "quota": "storageMb"}
    assert "1 MB" in error["message"]
    await full.data(USERS)
    assert await full.error_code(DELETE_GROUP, id=group) == "NOT_FOUND"
    await full.data('mutation { revokeSession(jti: "unknown-token") }')


@pytest.mark.one_engine
async def test_with_full_storage_only_mutations_that_free_storage_are_allowed(server: QuotaServer) -> None:
    full = await server.new_tenant_client(storage_mb=1, stored_bytes=1_000_000)
    allowed_mutations = set()
    for field_call in root_field_calls():
        variables = field_call.variables(dict.fromkeys(field_call.argument_names, "usr_00000000000000000000000000"))
        codes = [
            error["extensions"]["code"]
            for error in (await full.execute(field_call.document, **variables)).get("errors", ())
        ]
        if field_call.operation == "mutation" and codes != ["QUOTA_EXCEEDED"]:
            allowed_mutations.add(field_call.name)
        elif field_call.operation == "query":
            assert "QUOTA_EXCEEDED" not in codes
    revocations = {"revokeSession", "revokeLogin", "revokeSubject"}
    assert allowed_mutations == {"deleteUser", "deleteGroup", "removeMember", "deleteOrder", *revocations}


async def test_users_over_the_quota_are_refused_with_the_name_of_the_quota(server: QuotaServer) -> None:
    client = await server.new_tenant_client(users=1)
    assert await status_and_error(client, CREATE) == (200, {})
    status, error = await status_and_error(client, CREATE.replace("new@", "newer@"))
    assert (status, error) == (200, {"code": "QUOTA_EXCEEDED", "quota": "users"})
    assert len((await client.data(USERS))["users"]["edges"]) == 1
