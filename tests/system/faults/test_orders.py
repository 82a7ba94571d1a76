"""An order is placed once, and its status is changed once, if a write fails and the request is repeated."""

import pytest

from keyfence_iam.gate.fault_definition import FaultKind
from tests.data.order_requests import PLACE, TRANSITION, new_customer, new_product, order_input, place_order
from tests.failures.faulty_change import ERROR_CODES, FaultyChange, error_code, every_kind
from tests.stack import ApiClient, ServiceStack

STATUS_CHANGES: list[tuple[list[str], int | None]] = [
    (["CONFIRMED"], None),
    (["CONFIRMED"], 1),
    (["CONFIRMED", "CANCELLED"], None),
]

every_status_change = pytest.mark.parametrize(
    ("statuses", "version"), STATUS_CHANGES, ids=["confirmed", "confirmed with expected version 1", "cancelled"]
)


async def new_placement(stack: ServiceStack, owner: ApiClient) -> FaultyChange:
    customer, pen, ink = await new_customer(owner), await new_product(owner), await new_product(owner, "INK", "0.07")
    return FaultyChange.of_mutation(
        stack, owner, PLACE, input=order_input(customer, (pen, 2), (ink, 7), (pen, 1)), key="once"
    )


async def new_status_change(
    stack: ServiceStack, owner: ApiClient, statuses: list[str], version: int | None
) -> FaultyChange:
    """Returns the change to the last of these statuses, for an order that has the status before."""
    request = (await new_placement(stack, owner)).variables["input"]
    order = await place_order(owner, request)
    for to in statuses[:-1]:
        await owner.data(TRANSITION, id=order["id"], to=to)
    return FaultyChange.of_mutation(
        stack, owner, TRANSITION, id=order["id"], to=statuses[-1], v=version, note="checked"
    )


@every_kind
async def test_an_order_that_failed_is_placed_once_by_a_second_request(
    stack: ServiceStack, owner: ApiClient, kind: FaultKind
) -> None:
    change = await new_placement(stack, owner)
    _, expected_items, write_count = await change.without_faults()
    outcomes = [outcome async for outcome in change.failed_and_repeated(kind)]
    assert [error_code(outcome.failed_answer) for outcome in outcomes] == [ERROR_CODES[kind]] * write_count
    for outcome in outcomes:
        items_after_fault = expected_items if kind == "lost_response" else change.before
        assert outcome.items_after_failure.normalized(change.before) == items_after_fault.normalized(change.before)
        assert outcome.items_after_repetition.normalized(change.before) == expected_items.normalized(change.before)
        assert outcome.repeated_answer["data"]["placeOrder"]["id"] in str(outcome.items_after_repetition.items)


async def test_transient_faults_while_an_order_is_placed_are_retried(stack: ServiceStack, owner: ApiClient) -> None:
    change = await new_placement(stack, owner)
    _, expected_items, _ = await change.without_faults()
    async for answer, items in change.with_retries():
        assert answer["data"]["placeOrder"]["total"] == "3.79"
        assert items.normalized(change.before) == expected_items.normalized(change.before)


@pytest.mark.one_engine
@every_kind
@every_status_change
async def test_a_status_change_that_failed_is_made_once_by_a_second_request(
    stack: ServiceStack, owner: ApiClient, kind: FaultKind, statuses: list[str], version: int | None
) -> None:
    change = await new_status_change(stack, owner, statuses, version)
    expected_answer, expected_items, write_count = await change.without_faults()
    outcomes = [outcome async for outcome in change.failed_and_repeated(kind)]
    assert [error_code(outcome.failed_answer) for outcome in outcomes] == [ERROR_CODES[kind]] * write_count
    for outcome in outcomes:
        items_after_fault = expected_items if kind == "lost_response" else change.before
        assert outcome.items_after_failure.normalized(change.before) == items_after_fault.normalized(change.before)
        assert outcome.items_after_repetition.normalized(change.before) == expected_items.normalized(change.before)
        assert (
            (error_code(outcome.repeated_answer) == "CONFLICT")
            if kind == "lost_response"
            else (outcome.repeated_answer == expected_answer)
        )


@pytest.mark.one_engine
@every_status_change
async def test_transient_faults_during_a_status_change_are_retried(
    stack: ServiceStack, owner: ApiClient, statuses: list[str], version: int | None
) -> None:
    change = await new_status_change(stack, owner, statuses, version)
    expected_answer, expected_items, _ = await change.without_faults()
    async for answer, items in change.with_retries():
        assert answer == expected_answer
        assert items.normalized(change.before) == expected_items.normalized(change.before)
