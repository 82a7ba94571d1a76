"""Who meets takes turns in the order of coming; who does not, does not wait."""

import asyncio

import pytest

from keyfence.bulk.importer import KeyedLocks


async def ran(at_once: int, *touches: str) -> tuple[list[str], int]:
    """The order in which these ended, and how many were at it together at most."""
    locks, ended, inside, most = KeyedLocks(at_once), list[str](), 0, 0

    async def one(at: int, touched: str) -> None:
        nonlocal inside, most
        async with locks.holding(touched):
            inside += 1
            most = max(most, inside)
            for _ in range(len(touches) - at):
                await asyncio.sleep(0)
            inside -= 1
            ended.append(f"{at}{touched}")

    await asyncio.gather(*(one(at, touched) for at, touched in enumerate(touches)))
    return ended, most


async def test_those_that_touch_one_thing_go_in_order() -> None:
    assert await ran(9, "a", "a", "a") == (["0a", "1a", "2a"], 1)


async def test_those_that_touch_different_things_go_together() -> None:
    ended, most = await ran(9, "a", "b", "c")
    assert (sorted(ended), most) == (["0a", "1b", "2c"], 3)


async def test_what_two_touch_links_all_of_them() -> None:
    ended, most = await ran(9, "a", "ab", "b", "c")
    assert [one for one in ended if one != "3c"] == ["0a", "1ab", "2b"]
    assert most == 2


async def test_no_more_than_the_given_number_go_together() -> None:
    _, most = await ran(2, *"abcdefgh")
    assert most == 2


async def test_who_fails_or_is_cancelled_lets_the_next_go_on() -> None:
    locks = KeyedLocks(9)

    async def stuck() -> None:
        async with locks.holding("a"):
            await asyncio.sleep(60)

    task = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ZeroDivisionError):
        async with locks.holding("a"):
            raise ZeroDivisionError
    async with asyncio.timeout(5), locks.holding("a"):
        pass
