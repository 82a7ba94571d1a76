"""An order is placed, and its status changed, exactly once, whichever of the writes fail."""

import pytest

from keyfence_iam.gate.faults import FaultKind
from tests.data.order_requests import PLACE, TRANSITION, new_customer, new_product, order_input, place_order
from tests.failures.faulty_change import ERROR_CODES, FaultyChange, error_code, every_kind
from tests.stack import ApiClient, ServiceStack

STEPS: list[tuple[list[str], int | None]] = [
    (["CONFIRMED"], None),
    (["CONFIRMED"], 1),
    (["CONFIRMED", "CANCELLED"], None),
]

every_step = pytest.mark.parametrize(("way", "version"), STEPS, ids=["confirmed", "confirmed at 1", "cancelled"])


async def placing(stack: ServiceStack, owner: ApiClient) -> FaultyChange:
    customer, pen, ink = await new_customer(owner), await new_product(owner), await new_product(owner, "INK", "0.07")
    return FaultyChange.by(stack, owner, PLACE, input=order_input(customer, (pen, 2), (ink, 7), (pen, 1)), key="once")


async def stepping(stack: ServiceStack, owner: ApiClient, way: list[str], version: int | None) -> FaultyChange:
    """Returns the last of these status changes, for an order that has made the others."""
    request = (await placing(stack, owner)).variables["input"]
    order = await place_order(owner, request)
    for to in way[:-1]:
        await owner.data(TRANSITION, id=order["id"], to=to)
    return FaultyChange.by(stack, owner, TRANSITION, id=order["id"], to=way[-1], v=version, note="so it is")


@every_kind
async def test_an_order_that_failed_is_placed_once_by_a_second_request(
    stack: ServiceStack, owner: ApiClient, kind: FaultKind
) -> None:
    change = await placing(stack, owner)
    _, whole, writes = await change.without_faults()
    endings = [ending async for ending in change.failed_and_repeated(kind)]
    assert [error_code(ending.failed) for ending in endings] == [ERROR_CODES[kind]] * writes
    for ending in endings:
        left = whole if kind == "lost_response" else change.before
        assert ending.half.normalized(change.before) == left.normalized(change.before)
        assert ending.kept.normalized(change.before) == whole.normalized(change.before)
        assert ending.again["data"]["placeOrder"]["id"] in str(ending.kept.items)


async def test_transient_faults_while_an_order_is_placed_are_retried(stack: ServiceStack, owner: ApiClient) -> None:
    change = await placing(stack, owner)
    _, whole, _ = await change.without_faults()
    async for answer, kept in change.with_retries():
        assert answer["data"]["placeOrder"]["total"] == "3.79"
        assert kept.normalized(change.before) == whole.normalized(change.before)


@pytest.mark.one_engine
@every_kind
@every_step
async def test_a_status_change_that_failed_is_made_once_by_a_second_request(
    stack: ServiceStack, owner: ApiClient, kind: FaultKind, way: list[str], version: int | None
) -> None:
    change = await stepping(stack, owner, way, version)
    made, whole, writes = await change.without_faults()
    endings = [ending async for ending in change.failed_and_repeated(kind)]
    assert [error_code(ending.failed) for ending in endings] == [ERROR_CODES[kind]] * writes
    for ending in endings:
        left = whole if kind == "lost_response" else change.before
        assert ending.half.normalized(change.before) == left.normalized(change.before)
        assert ending.kept.normalized(change.before) == whole.normalized(change.before)
        assert (error_code(ending.again) == "CONFLICT") if kind == "lost_response" else (ending.again == made)


@pytest.mark.one_engine
@every_step
async def test_transient_faults_during_a_status_change_are_retried(
    stack: ServiceStack, owner: ApiClient, way: list[str], version: int | None
) -> None:
    change = await stepping(stack, owner, way, version)
    made, whole, _ = await change.without_faults()
    async for answer, kept in change.with_retries():
        assert answer == made
        assert kept.normalized(change.before) == whole.normalized(change.before)
