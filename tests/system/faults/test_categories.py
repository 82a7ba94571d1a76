"""A move of categories can be completed after a fault at any of its writes. Every category stays visible meanwhile."""

import pytest

from keyfence.domains.categories import category_mover
from keyfence.domains.products import category_products
from keyfence_iam.gate.fault_definition import FaultKind
from tests.failures.faulty_change import ERROR_CODES, FaultyChange, error_code, every_kind
from tests.failures.tenant_snapshot import Snapshot
from tests.stack import ApiClient, ServiceStack
from tests.system.api.test_categories import MOVE, PRODUCT, create_categories

CATEGORY_PATHS = [["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["z"]]
PRODUCT_PATHS = [["a"], ["a"], ["a"], ["a", "b", "c"], ["z"]]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_mover, "MOVE_BATCH", 2)
    monkeypatch.setattr(category_products, "MOVE_BATCH", 2)


async def new_move(stack: ServiceStack, owner: ApiClient) -> FaultyChange:
    await create_categories(owner, *CATEGORY_PATHS)
    for number, path in enumerate(PRODUCT_PATHS):
        await owner.data(PRODUCT, path=path, sku=f"P{number}")
    return FaultyChange.of_mutation(stack, owner, MOVE, path=["a"], to=["z", "q"])


def visible_categories(snapshot: Snapshot) -> int:
    """Returns how many categories clients can see."""
    categories = [item for item in snapshot.items if item["type"]["S"] == "Category"]
    return sum(item.get("moveState") != {"S": "ARRIVING"} for item in categories)


def counted_products(snapshot: Snapshot) -> int:
    return sum(int(item["productCount"]["N"]) for item in snapshot.items if item["type"]["S"] == "Category")


@pytest.mark.one_engine
@every_kind
async def test_a_move_that_failed_is_finished_by_a_second_request(
    stack: ServiceStack, owner: ApiClient, kind: FaultKind
) -> None:
    change = await new_move(stack, owner)
    expected_answer, expected_items, write_count = await change.without_faults()
    outcomes = [outcome async for outcome in change.failed_and_repeated(kind)]
    assert [error_code(outcome.failed_answer) for outcome in outcomes] == [ERROR_CODES[kind]] * write_count
    for outcome in outcomes:
        assert (visible_categories(outcome.items_after_failure), counted_products(outcome.items_after_failure)) == (
            len(CATEGORY_PATHS),
            len(PRODUCT_PATHS),
        )
        assert outcome.items_after_repetition.normalized(change.before) == expected_items.normalized(change.before), (
            outcome.failed_write
        )
    answers = [outcome.repeated_answer for outcome in outcomes]
    if kind == "lost_response":
        assert error_code(answers.pop()) == "NOT_FOUND"
    assert answers == [expected_answer] * len(answers)


@pytest.mark.one_engine
async def test_transient_faults_at_any_write_of_a_move_are_retried(stack: ServiceStack, owner: ApiClient) -> None:
    change = await new_move(stack, owner)
    expected_answer, expected_items, _ = await change.without_faults()
    async for answer, items in change.with_retries():
        assert answer == expected_answer
        assert items.normalized(change.before) == expected_items.normalized(change.before)
