"""A concurrency limit admits tasks in order, never more than the limit, also if waiting tasks are canceled."""

import asyncio

import pytest

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit


async def run_pending_tasks() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_are_inside_and_all_enter_in_order() -> None:
    limit, inside, max_inside, order = ConcurrencyLimit(3), 0, 0, []

    async def pass_through(number: int) -> None:
        nonlocal inside, max_inside
        async with limit:
            inside += 1
            max_inside = max(max_inside, inside)
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(pass_through(number) for number in range(20)))
    assert (max_inside, order, limit.is_idle, limit.waiting_count) == (3, list(range(20)), True, 0)


async def test_after_an_error_inside_the_next_enters() -> None:
    limit = ConcurrencyLimit(1)
    with pytest.raises(KeyError):
        async with limit:
            raise KeyError
    assert limit.is_idle


@pytest.mark.parametrize("is_admitted", [False, True], ids=["still waiting", "place just given"])
async def test_a_canceled_waiter_takes_no_place(is_admitted: bool) -> None:
    limit = ConcurrencyLimit(1)
    await limit.__aenter__()

    async def wait() -> None:
        async with limit:
            pass

    waiting = asyncio.ensure_future(wait())
    await run_pending_tasks()
    assert limit.waiting_count == 1
    if is_admitted:
        await limit.__aexit__()
    waiting.cancel()
    await run_pending_tasks()
    if not is_admitted:
        assert limit.waiting_count == 0
        await limit.__aexit__()
    assert (limit.is_idle, limit.waiting_count) == (True, 0)
    await asyncio.wait_for(wait(), 1)


async def test_a_place_for_a_waiter_that_was_just_canceled_goes_to_the_next() -> None:
    limit, entered = ConcurrencyLimit(1), []
    await limit.__aenter__()

    async def wait(number: int) -> None:
        async with limit:
            entered.append(number)

    first, second = (asyncio.ensure_future(wait(number)) for number in (1, 2))
    await run_pending_tasks()
    first.cancel()
    await limit.__aexit__()
    await asyncio.wait_for(second, 1)
    assert (entered, first.cancelled(), limit.is_idle) == ([2], True, True)


def test_a_limit_can_be_used_in_several_event_loops() -> None:
    limit = ConcurrencyLimit(1)

    async def tasks() -> None:
        async def one() -> None:
            async with limit:
                await asyncio.sleep(0)

        await asyncio.gather(*(one() for _ in range(5)))

    for _ in range(2):
        asyncio.run(tasks())
    assert limit.is_idle


async def test_a_higher_limit_admits_waiters_and_a_lower_one_waits_until_enough_have_left() -> None:
    limit, inside, may_leave = ConcurrencyLimit(1), set(), {number: asyncio.Event() for number in range(4)}

    async def stay(number: int) -> None:
        async with limit:
            inside.add(number)
            await may_leave[number].wait()
        inside.remove(number)

    tasks = [asyncio.ensure_future(stay(number)) for number in range(4)]
    await run_pending_tasks()
    assert inside == {0}
    limit.resize(3)
    await run_pending_tasks()
    assert inside == {0, 1, 2}
    limit.resize(1)
    for number, remaining in ((0, {1, 2}), (1, {2}), (2, {3})):
        may_leave[number].set()
        await run_pending_tasks()
        assert inside == remaining
    may_leave[3].set()
    await asyncio.gather(*tasks)
    assert (limit.is_idle, limit.waiting_count) == (True, 0)
