"""A load that several resolvers wait for ends for all others if one of the resolvers is cancelled."""

import asyncio
from collections.abc import Sequence

import pytest

from keyfence.graphql.context import DataLoader


async def squares(numbers: Sequence[int]) -> list[int]:
    await asyncio.sleep(0)
    return [number * number for number in numbers]


async def failure(_: Sequence[int]) -> list[int]:
    raise LookupError("no such number")


async def test_a_cancelled_resolver_does_not_cancel_the_load_of_another_one() -> None:
    loader = DataLoader(squares)
    cancelled, waiting = (asyncio.ensure_future(loader.load(3)) for _ in range(2))
    cancelled.cancel()
    assert await waiting == 9
    assert await loader.load(3) == 9


async def test_cancelled_resolvers_do_not_cancel_the_loads_of_many_keys() -> None:
    loader = DataLoader(squares)
    cancelled, waiting = (asyncio.ensure_future(loader.load_many([2, 3])) for _ in range(2))
    await asyncio.sleep(0)
    cancelled.cancel()
    assert await waiting == [4, 9]


async def test_a_load_that_fails_raises_for_every_resolver() -> None:
    loader = DataLoader(failure)
    for load in [asyncio.ensure_future(loader.load(3)) for _ in range(2)]:
        with pytest.raises(LookupError):
            await load
