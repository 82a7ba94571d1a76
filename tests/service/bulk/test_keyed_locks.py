"""Tasks with a common key run one after the other, all others concurrently."""

import asyncio

import pytest

from keyfence.bulk.importer import KeyedLocks


async def run_tasks(limit: int, *keys_of_tasks: str) -> tuple[list[str], int]:
    """Starts one task for each text, whose characters are its keys. A later task needs less time than an earlier one.

    Returns number and keys of each task in the order in which they ended, and how many ran concurrently at most."""
    locks, ended = KeyedLocks(limit), list[str]()
    running, max_running = 0, 0

    async def run(number: int, keys: str) -> None:
        nonlocal running, max_running
        async with locks.hold(keys):
            running += 1
            max_running = max(max_running, running)
            for _ in range(len(keys_of_tasks) - number):
                await asyncio.sleep(0)
            running -= 1
            ended.append(f"{number}{keys}")

    await asyncio.gather(*(run(number, keys) for number, keys in enumerate(keys_of_tasks)))
    return ended, max_running


async def test_tasks_with_one_key_run_in_order() -> None:
    assert await run_tasks(9, "a", "a", "a") == (["0a", "1a", "2a"], 1)


async def test_tasks_with_different_keys_run_concurrently() -> None:
    ended, max_running = await run_tasks(9, "a", "b", "c")
    assert (sorted(ended), max_running) == (["0a", "1b", "2c"], 3)


async def test_a_task_with_two_keys_waits_for_both() -> None:
    ended, max_running = await run_tasks(9, "a", "ab", "b", "c")
    assert [task for task in ended if task != "3c"] == ["0a", "1ab", "2b"]
    assert max_running == 2


async def test_at_most_the_limit_runs_concurrently() -> None:
    _, max_running = await run_tasks(2, *"abcdefgh")
    assert max_running == 2


async def test_a_failed_or_cancelled_task_releases_its_keys() -> None:
    locks = KeyedLocks(9)

    async def hold_for_a_minute() -> None:
        async with locks.hold("a"):
            await asyncio.sleep(60)

    task = asyncio.create_task(hold_for_a_minute())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ZeroDivisionError):
        async with locks.hold("a"):
            raise ZeroDivisionError
    async with asyncio.timeout(5), locks.hold("a"):
        pass
