"""Operators read how far jobs of all kinds are."""

from datetime import UTC, datetime, timedelta

from keyfence.jobs.job_record import JobKind, new_job
from keyfence.jobs.job_store import JobStore
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack

ASKED = """
query($id: ID!) {
  job(id: $id) {
    id tenant kind phase percent createdBy parameters itemsScanned itemsChanged itemsTotal counts createdAt finishedAt
  }
}
"""
AT = datetime(2026, 11, 16, tzinfo=UTC)


async def test_a_job_is_shown_as_it_is_stored(stack: ServiceStack, tenant: TenantId) -> None:
    made = new_job(JobKind.REKEY, tenant, created_by="ann", created_at=AT, parameters={"type": "User"})
    await JobStore(stack.tables.for_control_plane(writes=True)).add(made)
    told = await stack.operator_client().data(ASKED, id=made.id)
    assert told["job"] == {
        "id": made.id,
        "tenant": tenant,
        "kind": "REKEY",
        "phase": "STARTED",
        "percent": None,
        "createdBy": "ann",
        "parameters": {"type": "User"},
        "itemsScanned": 0,
        "itemsChanged": 0,
        "itemsTotal": None,
        "counts": {},
        "createdAt": "2026-11-16T00:00:00.000000Z",
        "finishedAt": None,
    }


async def test_there_is_none_or_it_is_no_id_of_one(stack: ServiceStack, tenant: TenantId) -> None:
    assert await stack.operator_client().data(ASKED, id="job_01M7HHHGKHN6S6V7032B0W8CKZ") == {"job": None}
    assert await stack.operator_client().error_code(ASKED, id=f"off_{tenant}") == "BAD_USER_INPUT"


async def test_a_tenant_cannot_ask(owner: ApiClient) -> None:
    assert (await owner.execute(ASKED, id="job_01M7HHHGKHN6S6V7032B0W8CKZ")).get("data") is None


LIST = """query($tenant: ID, $after: String) { jobs(tenant: $tenant, first: 2, after: $after) {
  edges { node { id kind } cursor } pageInfo { hasNextPage } } }"""


async def test_jobs_of_all_kinds_are_listed_the_newest_first_and_those_of_one_tenant_alone(
    stack: ServiceStack, tenant: TenantId
) -> None:
    other, store = await stack.new_tenant(), JobStore(stack.tables.for_control_plane(writes=True))
    assert (await stack.operator_client().data(LIST, tenant=tenant))["jobs"]["edges"] == []
    made = []
    for number, kind in enumerate(JobKind):
        at = AT + timedelta(minutes=number)
        made.append(await store.add(new_job(kind, tenant, created_by="ann", created_at=at)))
    newest = await store.add(new_job(JobKind.MOVE, other, created_by="ann", created_at=AT + timedelta(hours=1)))
    found, after = list[str](), None
    while True:
        page = (await stack.operator_client().data(LIST, tenant=tenant, after=after))["jobs"]
        found += [edge["node"]["kind"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["edges"][-1]["cursor"]
    assert found == [kind.value for kind in reversed(JobKind)]
    everyone = (await stack.operator_client().data(LIST))["jobs"]["edges"]
    listed = [edge["node"]["id"] for edge in everyone]
    assert newest.id in listed or len(listed) == 2
