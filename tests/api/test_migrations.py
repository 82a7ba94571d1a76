"""Operators ask how far a migration has come."""

from datetime import UTC, datetime

from keyfence.jobs.job import JobKind, new_job
from keyfence.jobs.lease import JobStore
from keyfence_iam.tenant import TenantId
from tests.stack import Session, World

ASKED = """
query($id: ID!) {
  migration(id: $id) {
    id tenant kind phase by detail itemsScanned itemsCopied itemsTotal counts startedAt finishedAt
  }
}
"""
AT = datetime(2026, 11, 16, tzinfo=UTC)


async def test_a_migration_is_told_as_it_is_kept(world: World, tenant: TenantId) -> None:
    made = new_job(JobKind.KEYS, tenant, by="ann", at=AT, detail={"type": "User"})
    await JobStore(world.tables.for_control_plane(writes=True)).add(made)
    told = await world.operator().ask(ASKED, id=made.id)
    assert told["migration"] == {
        "id": made.id,
        "tenant": tenant,
        "kind": "KEYS",
        "phase": "BEGUN",
        "by": "ann",
        "detail": {"type": "User"},
        "itemsScanned": 0,
        "itemsCopied": 0,
        "itemsTotal": None,
        "counts": {},
        "startedAt": "2026-11-16T00:00:00.000000Z",
        "finishedAt": None,
    }


async def test_there_is_none_or_it_is_no_id_of_one(world: World, tenant: TenantId) -> None:
    assert await world.operator().ask(ASKED, id="mig_01M7HHHGKHN6S6V7032B0W8CKZ") == {"migration": None}
    assert await world.operator().refusal(ASKED, id=f"off_{tenant}") == "BAD_USER_INPUT"


async def test_a_tenant_cannot_ask(owner: Session) -> None:
    assert (await owner.answer(ASKED, id="mig_01M7HHHGKHN6S6V7032B0W8CKZ")).get("data") is None
