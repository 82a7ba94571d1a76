"""A concurrency limit admits so many at a time, the others in order, and loses no place to a canceled waiter."""

import asyncio

import pytest

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_are_inside_and_all_enter_in_order() -> None:
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


async def test_after_an_error_inside_the_next_enters() -> None:
    lane = ConcurrencyLimit(1)
    with pytest.raises(KeyError):
        async with lane:
            raise KeyError
    assert lane.is_idle


@pytest.mark.parametrize("given", [False, True], ids=["still waiting", "place just given"])
async def test_a_canceled_waiter_takes_no_place(given: bool) -> None:
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


async def test_a_place_for_a_waiter_that_was_just_canceled_goes_to_the_next() -> None:
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


def test_a_limit_can_be_used_in_several_event_loops() -> None:
    lane = ConcurrencyLimit(1)

    async def crowd() -> None:
        async def one() -> None:
            async with lane:
                await asyncio.sleep(0)

        await asyncio.gather(*(one() for _ in range(5)))

    for _ in range(2):
        asyncio.run(crowd())
    assert lane.is_idle


async def test_a_higher_limit_admits_waiters_and_a_lower_one_waits_until_enough_have_left() -> None:
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
