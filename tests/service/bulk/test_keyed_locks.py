"""Tasks with a common key run one after the other, all others concurrently."""

import asyncio

import pytest

from keyfence.bulk.importer import KeyedLocks


async def ran(at_once: int, *touches: str) -> tuple[list[str], int]:
    """The order in which these ended, and how many were at it together at most."""
    locks, ended, inside, most = KeyedLocks(at_once), list[str](), 0, 0

    async def one(at: int, touched: str) -> None:
        nonlocal inside, most
        async with locks.hold(touched):
            inside += 1
            most = max(most, inside)
            for _ in range(len(touches) - at):
                await asyncio.sleep(0)
            inside -= 1
            ended.append(f"{at}{touched}")

    await asyncio.gather(*(one(at, touched) for at, touched in enumerate(touches)))
    return ended, most


async def test_tasks_with_one_key_run_in_order() -> None:
    assert await ran(9, "a", "a", "a") == (["0a", "1a", "2a"], 1)


async def test_tasks_with_different_keys_run_concurrently() -> None:
    ended, most = await ran(9, "a", "b", "c")
    assert (sorted(ended), most) == (["0a", "1b", "2c"], 3)


async def test_a_task_with_two_keys_waits_for_both() -> None:
    ended, most = await ran(9, "a", "ab", "b", "c")
    assert [one for one in ended if one != "3c"] == ["0a", "1ab", "2b"]
    assert most == 2


async def test_at_most_the_limit_runs_concurrently() -> None:
    _, most = await ran(2, *"abcdefgh")
    assert most == 2


async def test_a_failed_or_cancelled_task_releases_its_keys() -> None:
    locks = KeyedLocks(9)

    async def stuck() -> None:
        async with locks.hold("a"):
            await asyncio.sleep(60)

    task = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ZeroDivisionError):
        async with locks.hold("a"):
            raise ZeroDivisionError
    async with asyncio.timeout(5), locks.hold("a"):
        pass
