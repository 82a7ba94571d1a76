"""After any sequence of changes, the service agrees with a shop in memory."""

import asyncio
from collections import Counter

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.stack import ServiceStack
from tests.system.model.example_settings import examples, seeded
from tests.system.model.state_machine import Machine
from tests.tier import Tier, selected

ARRIVALS = 3
"""How many moves of categories arrive in an example, at least and on average."""


@pytest.mark.one_engine
def test_the_service_and_a_shop_in_memory_agree_after_every_step(stack: ServiceStack) -> None:
    moves: Counter[str] = Counter()
    with asyncio.Runner() as runner:

        class Here(Machine):
            """In this stack."""

            def __init__(self) -> None:
                super().__init__(stack, runner, moves)

        run_state_machine_as_test(seeded(Here), settings=examples())
    assert moves.pop("done") >= ARRIVALS * examples().max_examples
    if selected() is Tier.FULL:  # the few shops of the default tier may have no move that is refused
        assert moves.total() >= 1
