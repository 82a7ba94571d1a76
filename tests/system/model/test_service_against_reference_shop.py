"""After any sequence of changes, the service agrees with a shop in memory."""

import asyncio
from collections import Counter

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.random_run import RandomRun
from tests.stack import ServiceStack
from tests.system.model.example_settings import SAME_EXAMPLES, examples, seeded
from tests.system.model.state_machine import ShopMachine
from tests.tier import Tier, selected

MIN_MOVES = 3
"""The smallest number of successful moves of categories, on average over the examples."""


@pytest.mark.one_engine
def test_the_service_and_a_shop_in_memory_agree_after_every_step(stack: ServiceStack) -> None:
    run = RandomRun.from_environment("MODEL", SAME_EXAMPLES.max_examples)
    move_outcomes: Counter[str] = Counter()
    with asyncio.Runner() as runner:

        class MachineOfStack(ShopMachine):
            """Hypothesis makes the machine itself, without arguments."""

            def __init__(self) -> None:
                super().__init__(stack, runner, move_outcomes)

        run_state_machine_as_test(seeded(MachineOfStack, run), settings=examples(run))
    assert move_outcomes.pop("done") >= MIN_MOVES * run.examples
    if selected() is Tier.FULL:  # the few examples of the default tier may have no move that is refused
        assert move_outcomes.total() >= 1
