"""A move of categories is complete, whichever of its writes fail, and hides no category meanwhile."""

import pytest

from keyfence.domains.categories import category_mover
from keyfence.domains.products import category_products
from keyfence_iam.gate.faults import FaultKind
from tests.failures.faulty_change import ERROR_CODES, FaultyChange, error_code, every_kind
from tests.failures.tenant_snapshot import Snapshot
from tests.stack import ApiClient, ServiceStack
from tests.system.api.test_categories import MOVE, PRODUCT, grow

PATHS = [["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["z"]]
STOCK = [["a"], ["a"], ["a"], ["a", "b", "c"], ["z"]]


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_mover, "MOVE_BATCH", 2)
    monkeypatch.setattr(category_products, "MOVE_BATCH", 2)


async def moving(stack: ServiceStack, owner: ApiClient) -> FaultyChange:
    await grow(owner, *PATHS)
    for number, path in enumerate(STOCK):
        await owner.data(PRODUCT, path=path, sku=f"P{number}")
    return FaultyChange.by(stack, owner, MOVE, path=["a"], to=["z", "q"])


def shown(kept: Snapshot) -> int:
    """Returns how many categories clients can see."""
    categories = [item for item in kept.items if item["type"]["S"] == "Category"]
    return sum(item.get("moveState") != {"S": "ARRIVING"} for item in categories)


def counted(kept: Snapshot) -> int:
    return sum(int(item["productCount"]["N"]) for item in kept.items if item["type"]["S"] == "Category")


@pytest.mark.one_engine
@every_kind
async def test_a_move_that_failed_is_finished_by_a_second_request(
    stack: ServiceStack, owner: ApiClient, kind: FaultKind
) -> None:
    change = await moving(stack, owner)
    made, whole, writes = await change.without_faults()
    endings = [ending async for ending in change.failed_and_repeated(kind)]
    assert [error_code(ending.failed) for ending in endings] == [ERROR_CODES[kind]] * writes
    for ending in endings:
        assert (shown(ending.half), counted(ending.half)) == (len(PATHS), len(STOCK))
        assert ending.kept.normalized(change.before) == whole.normalized(change.before), ending.nth
    answers = [ending.again for ending in endings]
    if kind == "lost_response":
        assert error_code(answers.pop()) == "NOT_FOUND"
    assert answers == [made] * len(answers)


@pytest.mark.one_engine
async def test_transient_faults_at_any_write_of_a_move_are_retried(stack: ServiceStack, owner: ApiClient) -> None:
    change = await moving(stack, owner)
    made, whole, _ = await change.without_faults()
    async for answer, kept in change.with_retries():
        assert answer == made
        assert kept.normalized(change.before) == whole.normalized(change.before)
