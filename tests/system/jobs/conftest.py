"""The access of the migrator and a manual clock, for all tests of jobs."""

from collections.abc import Iterator

import pytest

from keyfence.jobs.migrator_access import MigratorAccess
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import START, connect_as_migrator


@pytest.fixture(scope="module")
def migrator(stack: ServiceStack) -> Iterator[MigratorAccess]:
    with connect_as_migrator(stack) as access:
        yield access


@pytest.fixture
def time() -> ManualClock:
    return ManualClock.at(START)
