"""A cursor is valid for a week, and under rotated keys."""

import pytest

from keyfence.errors import BadInput
from keyfence.store.cursor import CursorCodec, CursorPosition, CursorScope
from tests.fakes.clock import ManualClock

HOUR = 3600
WEEK = 7 * 24 * HOUR
KEYS = [bytes([number]) * 32 for number in range(3)]
SCOPE = CursorScope("TENANT#acme#", "User|gsi2|asc", "{}")
PLACE = CursorPosition("2026-11-16T00:00:00.000000Z#usr_1", "USER#usr_1", "PROFILE")


def sealer(*keys: bytes, later: float = 0) -> CursorCodec:
    return CursorCodec(keys or KEYS[:1], clock=ManualClock(1_800_000_000.0 + later))


CURSOR = sealer().encode(PLACE, SCOPE)


def refused(cursor: str, by: CursorCodec) -> bool:
    try:
        by.decode(cursor, SCOPE)
    except BadInput:
        return True
    return False


def test_a_cursor_under_another_key_is_refused() -> None:
    assert refused(CURSOR, sealer(KEYS[1], KEYS[2]))


def test_keys_are_rotated_without_breaking_a_page_in_progress() -> None:
    rotated = sealer(KEYS[1], KEYS[0])
    assert rotated.decode(CURSOR, SCOPE) == PLACE
    assert refused(rotated.encode(PLACE, SCOPE), sealer(KEYS[0])), "a new cursor is encrypted with the new key"
    assert sealer(KEYS[1]).decode(rotated.encode(PLACE, SCOPE), SCOPE) == PLACE


@pytest.mark.parametrize("keys", [[], [b""], [b"short"], [KEYS[0], b"x" * 31], [b"x" * 33]])
def test_cursor_keys_have_32_bytes(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        CursorCodec(keys)


@pytest.mark.parametrize(("age", "stale"), [(0, False), (WEEK, False), (WEEK + HOUR, True), (52 * WEEK, True)])
def test_a_cursor_is_valid_for_a_week(age: int, stale: bool) -> None:
    assert refused(CURSOR, sealer(later=age)) is stale


@pytest.mark.parametrize("ahead", [HOUR, 52 * WEEK])
def test_a_cursor_from_the_future_is_refused(ahead: int) -> None:
    assert refused(sealer(later=ahead).encode(PLACE, SCOPE), sealer())


def test_an_item_keeps_its_cursor_within_the_hour_and_no_longer() -> None:
    assert sealer(later=HOUR - 1).encode(PLACE, SCOPE) == CURSOR
    assert sealer(later=HOUR).encode(PLACE, SCOPE) != CURSOR
    assert sealer(later=HOUR).decode(CURSOR, SCOPE) == PLACE
