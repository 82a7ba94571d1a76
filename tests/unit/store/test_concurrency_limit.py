"""A lane lets so many in at a time, the others in order, and loses no place when somebody gives up."""

import asyncio

import pytest

from keyfence.store.dynamodb.flow_control import ConcurrencyLimit


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_than_its_width_are_inside_and_all_get_through_in_order() -> None:
    lane, inside, most, order = ConcurrencyLimit(3), 0, 0, []

    async def pass_through(number: int) -> None:
        nonlocal inside, most
        async with lane:
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(pass_through(number) for number in range(20)))
    assert (most, order, lane.is_idle, lane.waiting) == (3, list(range(20)), True, 0)


async def test_who_fails_inside_leaves_the_place_to_the_next() -> None:
    lane = ConcurrencyLimit(1)
    with pytest.raises(KeyError):
        async with lane:
            raise KeyError
    assert lane.is_idle


@pytest.mark.parametrize("given", [False, True], ids=["still waiting", "place just given"])
async def test_who_gives_up_waiting_takes_no_place_along(given: bool) -> None:
    lane = ConcurrencyLimit(1)
    await lane.__aenter__()

    async def wait() -> None:
        async with lane:
            pass

    waiting = asyncio.ensure_future(wait())
    await settle()
    assert lane.waiting == 1
    if given:
        await lane.__aexit__()
    waiting.cancel()
    await settle()
    if not given:
        assert lane.waiting == 0
        await lane.__aexit__()
    assert (lane.is_idle, lane.waiting) == (True, 0)
    await asyncio.wait_for(wait(), 1)


async def test_a_place_that_is_offered_to_who_has_just_given_up_goes_to_the_next() -> None:
    lane, entered = ConcurrencyLimit(1), []
    await lane.__aenter__()

    async def wait(number: int) -> None:
        async with lane:
            entered.append(number)

    first, second = (asyncio.ensure_future(wait(number)) for number in (1, 2))
    await settle()
    first.cancel()
    await lane.__aexit__()
    await asyncio.wait_for(second, 1)
    assert (entered, first.cancelled(), lane.is_idle) == ([2], True, True)


def test_a_lane_outlives_an_event_loop() -> None:
    lane = ConcurrencyLimit(1)

    async def crowd() -> None:
        async def one() -> None:
            async with lane:
                await asyncio.sleep(0)

        await asyncio.gather(*(one() for _ in range(5)))

    for _ in range(2):
        asyncio.run(crowd())
    assert lane.is_idle


async def test_a_lane_that_is_widened_lets_the_next_in_at_once_and_one_that_is_narrowed_waits_for_enough_to_leave() -> (
    None
):
    lane, inside, leave = ConcurrencyLimit(1), set(), {number: asyncio.Event() for number in range(4)}

    async def stay(number: int) -> None:
        async with lane:
            inside.add(number)
            await leave[number].wait()
        inside.remove(number)

    crowd = [asyncio.ensure_future(stay(number)) for number in range(4)]
    await settle()
    assert inside == {0}
    lane.resize(3)
    await settle()
    assert inside == {0, 1, 2}
    lane.resize(1)
    for number, left in ((0, {1, 2}), (1, {2}), (2, {3})):
        leave[number].set()
        await settle()
        assert inside == left
    leave[3].set()
    await asyncio.gather(*crowd)
    assert (lane.is_idle, lane.waiting) == (True, 0)
