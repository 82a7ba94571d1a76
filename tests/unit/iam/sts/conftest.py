"""A scene for every test that needs no other."""

from collections.abc import Iterator

import pytest

from tests.fakes.sts import Scene, scene


@pytest.fixture
def stage() -> Iterator[Scene]:
    made = scene()
    yield made
    made.sts.open.set()
    made.vending.close()
