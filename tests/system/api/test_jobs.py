"""Operators can read the progress of all jobs, and tenants cannot."""

from datetime import UTC, datetime, timedelta

from keyfence.jobs.job_record import JobKind, new_job
from keyfence.jobs.job_repository import JobRepository
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack

JOB = """
query($id: ID!) {
  job(id: $id) {
    id tenant kind phase percent createdBy parameters itemsScanned itemsChanged itemsTotal counts createdAt finishedAt
  }
}
"""
CREATED_AT = datetime(2026, 11, 16, tzinfo=UTC)


async def test_a_job_is_shown_as_it_is_stored(stack: ServiceStack, tenant: TenantId) -> None:
    job = new_job(JobKind.REKEY, tenant, created_by="ann", created_at=CREATED_AT, parameters={"type": "User"})
    await JobRepository(stack.tables.for_control_plane(may_write=True)).add(job)
    answer = await stack.operator_client().data(JOB, id=job.id)
    assert answer["job"] == {
        "id": job.id,
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


async def test_an_unknown_job_is_null_and_an_id_of_another_type_is_bad_input(
    stack: ServiceStack, tenant: TenantId
) -> None:
    assert await stack.operator_client().data(JOB, id="job_01M7HHHGKHN6S6V7032B0W8CKZ") == {"job": None}
    assert await stack.operator_client().error_code(JOB, id=f"off_{tenant}") == "BAD_USER_INPUT"


async def test_a_tenant_cannot_read_a_job(owner: ApiClient) -> None:
    assert (await owner.execute(JOB, id="job_01M7HHHGKHN6S6V7032B0W8CKZ")).get("data") is None


LIST = """query($tenant: ID, $after: String) { jobs(tenant: $tenant, first: 2, after: $after) {
  edges { node { id kind } cursor } pageInfo { hasNextPage } } }"""


async def test_jobs_are_listed_newest_first_for_one_tenant_and_for_all_tenants(
    stack: ServiceStack, tenant: TenantId
) -> None:
    other_tenant, store = await stack.new_tenant(), JobRepository(stack.tables.for_control_plane(may_write=True))
    assert (await stack.operator_client().data(LIST, tenant=tenant))["jobs"]["edges"] == []
    for number, kind in enumerate(JobKind):
        created_at = CREATED_AT + timedelta(minutes=number)
        await store.add(new_job(kind, tenant, created_by="ann", created_at=created_at))
    newest = await store.add(
        new_job(JobKind.MOVE, other_tenant, created_by="ann", created_at=CREATED_AT + timedelta(hours=1))
    )
    kinds, after = list[str](), None
    while True:
        page = (await stack.operator_client().data(LIST, tenant=tenant, after=after))["jobs"]
        kinds += [edge["node"]["kind"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["edges"][-1]["cursor"]
    assert kinds == [kind.value for kind in reversed(JobKind)]
    edges = (await stack.operator_client().data(LIST))["jobs"]["edges"]
    ids = [edge["node"]["id"] for edge in edges]
    assert ids[0] == newest.id
