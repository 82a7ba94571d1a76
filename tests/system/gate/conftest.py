"""Fixtures for tests with partition limits: a manual clock, the limits, and a client of tenant a1."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.gate.limited_partitions import A1

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def limits(stack: ServiceStack, clock: ManualClock) -> Iterator[PartitionLimits]:
    stack.gate.limits = PartitionLimits(now=clock)
    yield stack.gate.limits
    stack.gate.limits = None


@pytest.fixture
def table(stack: ServiceStack) -> str:
    return stack.settings.table


@pytest.fixture
def a1(stack: ServiceStack, limits: PartitionLimits) -> "DynamoDBClient":
    """Returns a client of tenant a1. The fixture `limits` is used first, so that its calls have limits."""
    return stack.boto_client(A1)
