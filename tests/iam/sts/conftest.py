"""The fixture `cache`: a session cache with a fake STS and a manual clock."""

from collections.abc import Iterator

import pytest

from tests.fakes.sts import SessionCacheFixture, session_cache


@pytest.fixture
def cache() -> Iterator[SessionCacheFixture]:
    fixture = session_cache()
    yield fixture
    fixture.sts.may_answer.set()
    fixture.sessions.close()
