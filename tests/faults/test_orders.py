"""An order is placed and moved on once and whole, whichever of its writes are struck."""

import pytest

from keyfence_iam.gate.faults import Kind
from tests.data.order_requests import PLACE, TRANSITION, new_customer, new_product, placed, wanted
from tests.failures.faulty_change import TOLD, Change, code, every_kind
from tests.stack import Session, World

STEPS: list[tuple[list[str], int | None]] = [
    (["CONFIRMED"], None),
    (["CONFIRMED"], 1),
    (["CONFIRMED", "CANCELLED"], None),
]

every_step = pytest.mark.parametrize(("way", "version"), STEPS, ids=["confirmed", "confirmed at 1", "cancelled"])


async def placing(world: World, owner: Session) -> Change:
    customer, pen, ink = await new_customer(owner), await new_product(owner), await new_product(owner, "INK", "0.07")
    return Change.by(world, owner, PLACE, input=wanted(customer, (pen, 2), (ink, 7), (pen, 1)), key="once")


async def stepping(world: World, owner: Session, way: list[str], version: int | None) -> Change:
    """The last step of the way."""
    request = (await placing(world, owner)).variables["input"]
    order = await placed(owner, request)
    for to in way[:-1]:
        await owner.ask(TRANSITION, id=order["id"], to=to)
    return Change.by(world, owner, TRANSITION, id=order["id"], to=way[-1], v=version, note="so it is")


@every_kind
async def test_an_order_whose_placing_failed_is_placed_once_by_asking_again(
    world: World, owner: Session, kind: Kind
) -> None:
    change = await placing(world, owner)
    _, whole, writes = await change.made()
    endings = [ending async for ending in change.repeated(kind)]
    assert [code(ending.failed) for ending in endings] == [TOLD[kind]] * writes
    for ending in endings:
        left = whole if kind == "lost_response" else change.before
        assert ending.half.told(change.before) == left.told(change.before)
        assert ending.kept.told(change.before) == whole.told(change.before)
        assert ending.again["data"]["placeOrder"]["id"] in str(ending.kept.items)


async def test_faults_at_the_placing_of_an_order_are_not_noticed(world: World, owner: Session) -> None:
    change = await placing(world, owner)
    _, whole, _ = await change.made()
    async for answer, kept in change.weathered():
        assert answer["data"]["placeOrder"]["total"] == "3.79"
        assert kept.told(change.before) == whole.told(change.before)


@pytest.mark.one_engine
@every_kind
@every_step
async def test_a_step_that_failed_is_made_once_by_asking_again(
    world: World, owner: Session, kind: Kind, way: list[str], version: int | None
) -> None:
    change = await stepping(world, owner, way, version)
    made, whole, writes = await change.made()
    endings = [ending async for ending in change.repeated(kind)]
    assert [code(ending.failed) for ending in endings] == [TOLD[kind]] * writes
    for ending in endings:
        left = whole if kind == "lost_response" else change.before
        assert ending.half.told(change.before) == left.told(change.before)
        assert ending.kept.told(change.before) == whole.told(change.before)
        assert (code(ending.again) == "CONFLICT") if kind == "lost_response" else (ending.again == made)


@pytest.mark.one_engine
@every_step
async def test_faults_at_a_step_are_not_noticed(
    world: World, owner: Session, way: list[str], version: int | None
) -> None:
    change = await stepping(world, owner, way, version)
    made, whole, _ = await change.made()
    async for answer, kept in change.weathered():
        assert answer == made
        assert kept.told(change.before) == whole.told(change.before)
