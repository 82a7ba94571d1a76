"""Every change has an entry in the activity log, in the same transaction: author, time, values before and after."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.activity.activity_log import ACTIVITY_RETENTION, Activity, ActivityId, activities
from keyfence.store.ids import new_id
from keyfence.store.writes import put
from tests.isolation.neighbour_tenant import READ_EVERYTHING, create_neighbour
from tests.isolation.root_fields import RootFieldCall, root_field_calls
from tests.stack import ApiClient, ServiceStack

pytestmark = pytest.mark.one_engine
"""These tests send hundreds of requests. The answers do not depend on the engine."""

MUTATIONS = tuple(field_call for field_call in root_field_calls() if field_call.operation == "mutation")
READS = {"GetItem", "BatchGetItem", "Query"}
ACTIVITY = """query($first: Int, $after: String, $from: DateTime, $to: DateTime) {
  activity(first: $first, after: $after, from: $from, to: $to) {
    pageInfo { hasNextPage endCursor } edges { cursor node { id at by kind target detail } }
  }
}"""
CREATE = "mutation($e: String!, $n: String!) { createUser(input: {email: $e, name: $n}) { id } }"
RENAME = "mutation($id: ID!, $n: String!) { updateUser(id: $id, input: {name: $n}) { id } }"


async def entries(client: ApiClient, **arguments: Any) -> list[dict[str, Any]]:
    data = await client.data(ACTIVITY, **arguments)
    return [edge["node"] for edge in data["activity"]["edges"]]


@pytest.mark.parametrize("field_call", MUTATIONS, ids=str)
async def test_every_mutation_that_changes_something_leaves_an_entry(
    stack: ServiceStack, field_call: RootFieldCall
) -> None:
    neighbour = await create_neighbour(stack)
    client = stack.api_client(neighbour.client.tenant, Role.OWNER, user="actor")
    data_before = await client.data(READ_EVERYTHING)
    for assignment in neighbour.assignments(field_call):
        stack.take_calls()
        await client.execute(field_call.document, **field_call.variables(assignment))
        if {call.operation for call in stack.take_calls()} <= READS:
            continue
        new_entries = [entry for entry in await entries(client, first=50) if entry["by"] == "actor"]
        has_changed = await client.data(READ_EVERYTHING) != data_before
        assert bool(new_entries) == has_changed
        if has_changed:
            return
    pytest.fail("it never changed anything")


async def test_an_entry_has_the_values_before_and_after_the_change(stack: ServiceStack, owner: ApiClient) -> None:
    id = (await owner.data(CREATE, e="ann@x.example", n="Ann"))["createUser"]["id"]
    await owner.data(RENAME, id=id, n="Anna")
    renamed, created = await entries(owner)
    assert (created["kind"], created["target"], created["by"]) == ("user.created", id, "somebody")
    assert created["detail"] == {"after": {"email": "ann@x.example", "name": "Ann", "role": "MEMBER"}}
    assert (renamed["kind"], renamed["detail"]) == (
        "user.updated",
        {"before": {"name": "Ann"}, "after": {"name": "Anna"}},
    )


async def test_a_refused_change_leaves_no_entry(stack: ServiceStack, owner: ApiClient) -> None:
    await owner.data(CREATE, e="ann@x.example", n="Ann")
    assert await owner.error_code(CREATE, e="ann@x.example", n="Another") == "CONFLICT"
    assert len(await entries(owner)) == 1


async def test_the_activity_log_is_paged_newest_first_and_by_time(stack: ServiceStack, owner: ApiClient) -> None:
    for number in range(5):
        await owner.data(CREATE, e=f"{number}@x.example", n=f"N{number}")
    all_entries = await entries(owner)
    assert [entry["detail"]["after"]["name"] for entry in all_entries] == [f"N{number}" for number in (4, 3, 2, 1, 0)]
    paged_entries, after = [], None
    while True:
        page = (await owner.data(ACTIVITY, first=2, after=after))["activity"]
        paged_entries += [edge["node"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    assert paged_entries == all_entries
    middle = await entries(owner, **{"from": all_entries[3]["at"], "to": all_entries[1]["at"]})
    assert middle == all_entries[1:4]
    assert await entries(owner, **{"from": all_entries[1]["at"], "to": all_entries[3]["at"]}) == []


async def test_the_activity_of_a_user_has_the_changes_of_that_user(stack: ServiceStack, owner: ApiClient) -> None:
    user_id = (await owner.data(CREATE, e="ann@x.example", n="Ann"))["createUser"]["id"]
    await stack.api_client(owner.tenant, Role.ADMIN, user=user_id).data(CREATE, e="bob@x.example", n="Bob")
    data = await owner.data(
        "query($id: ID!) { user(id: $id) { activity { edges { node { kind detail } } } } }", id=user_id
    )
    (edge,) = data["user"]["activity"]["edges"]
    assert edge["node"]["detail"]["after"]["email"] == "bob@x.example"


async def test_each_tenant_has_its_own_activity_log(stack: ServiceStack, owner: ApiClient) -> None:
    await owner.data(CREATE, e="ann@x.example", n="Ann")
    assert await entries(stack.api_client(await stack.new_tenant())) == []


async def test_a_tenant_without_activity_costs_one_query_for_each_month(stack: ServiceStack, owner: ApiClient) -> None:
    await owner.data(CREATE, e="ann@x.example", n="Ann")
    stack.take_calls()
    await entries(owner, first=50)
    assert len([call for call in stack.take_calls() if call.operation == "Query"]) in {3, 4}


def activity_at(at: datetime, by: str = "somebody") -> Activity:
    return Activity(
        id=ActivityId(new_id("act")), actor=by, kind="thing.done", detail="{}", ttl=9**11, created_at=at, updated_at=at
    )


async def test_the_end_of_a_period_may_have_any_time_zone(stack: ServiceStack, owner: ApiClient) -> None:
    newest_at = datetime.now(UTC) - timedelta(seconds=2)
    stored_entries = [activity_at(newest_at - timedelta(days=9 * days)) for days in range(7)]
    await stack.table(owner.tenant).write(*(put(activities, entry) for entry in stored_entries))
    now = datetime.now(UTC) - timedelta(seconds=1)
    for hours in (-14, -5, 0, 9, 14):
        end = now.astimezone(timezone(timedelta(hours=hours))).isoformat()
        assert [entry["id"] for entry in await entries(owner, now=end)] == [entry.id for entry in stored_entries]


async def test_entries_older_than_ninety_days_are_not_returned_though_still_stored(
    stack: ServiceStack, owner: ApiClient
) -> None:
    user_id = (await owner.data(CREATE, e="ann@x.example", n="Ann"))["createUser"]["id"]
    now = datetime.now(UTC)
    ages = (timedelta(hours=-1), timedelta(minutes=1), timedelta(days=1))
    old, *older = [activity_at(now - ACTIVITY_RETENTION - age, user_id) for age in ages]
    await stack.table(owner.tenant).write(*(put(activities, entry) for entry in (old, *older)))
    assert [entry["id"] for entry in await entries(owner) if entry["by"] == user_id] == [old.id]
    start = (now - ACTIVITY_RETENTION - timedelta(days=200)).isoformat()
    assert [entry["id"] for entry in await entries(owner, **{"from": start}) if entry["by"] == user_id] == [old.id]
    data = await owner.data("query($id: ID!) { user(id: $id) { activity { edges { node { id } } } } }", id=user_id)
    assert [edge["node"]["id"] for edge in data["user"]["activity"]["edges"]] == [old.id]
