"""Whatever is done to a shop in whatever order, the service says of it what a shop in memory says."""

import asyncio
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine
from tests.world import World

THOROUGH = settings(
    max_examples=10,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("world", ["dynoxide"], indirect=True)
def test_the_service_and_a_shop_in_memory_agree_after_every_step(world: World) -> None:
    moves: Counter[str] = Counter()
    with asyncio.Runner() as runner:

        class Here(Machine):
            """In this world."""

            def __init__(self) -> None:
                super().__init__(world, runner, moves)

        run_state_machine_as_test(Here, settings=THOROUGH)
    assert moves.pop("done") >= 30
    assert moves.total() >= 1
