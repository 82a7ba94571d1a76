"""The fixture `stage`: a session cache with a fake STS and a manual clock."""

from collections.abc import Iterator

import pytest

from tests.fakes.sts import SessionCacheFixture, session_cache


@pytest.fixture
def stage() -> Iterator[SessionCacheFixture]:
    made = session_cache()
    yield made
    made.sts.open.set()
    made.sessions.close()
