"""A cursor is valid for a week, and under rotated keys."""

import pytest

from keyfence.errors import BadInput
from keyfence.store.cursor import CursorCodec, CursorPosition, CursorScope
from tests.fakes.clock import ManualClock

HOUR = 3600
WEEK = 7 * 24 * HOUR
KEYS = [bytes([number]) * 32 for number in range(3)]
SCOPE = CursorScope("TENANT#acme#", "User|gsi2|asc", "{}")
POSITION = CursorPosition("2026-11-16T00:00:00.000000Z#usr_1", "USER#usr_1", "PROFILE")


def codec(*keys: bytes, seconds_later: float = 0) -> CursorCodec:
    return CursorCodec(keys or KEYS[:1], clock=ManualClock(1_800_000_000.0 + seconds_later))


CURSOR = codec().encode(POSITION, SCOPE)


def is_refused(cursor: str, decoder: CursorCodec) -> bool:
    try:
        decoder.decode(cursor, SCOPE)
    except BadInput:
        return True
    return False


def test_a_cursor_under_another_key_is_refused() -> None:
    assert is_refused(CURSOR, codec(KEYS[1], KEYS[2]))


def test_keys_are_rotated_without_breaking_a_page_in_progress() -> None:
    rotated = codec(KEYS[1], KEYS[0])
    assert rotated.decode(CURSOR, SCOPE) == POSITION
    assert is_refused(rotated.encode(POSITION, SCOPE), codec(KEYS[0])), "a new cursor is encrypted with the new key"
    assert codec(KEYS[1]).decode(rotated.encode(POSITION, SCOPE), SCOPE) == POSITION


@pytest.mark.parametrize("keys", [[], [b""], [b"short"], [KEYS[0], b"x" * 31], [b"x" * 33]])
def test_cursor_keys_have_32_bytes(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        CursorCodec(keys)


@pytest.mark.parametrize(("age", "is_expired"), [(0, False), (WEEK, False), (WEEK + HOUR, True), (52 * WEEK, True)])
def test_a_cursor_is_valid_for_a_week(age: int, is_expired: bool) -> None:
    assert is_refused(CURSOR, codec(seconds_later=age)) is is_expired


@pytest.mark.parametrize("seconds_ahead", [HOUR, 52 * WEEK])
def test_a_cursor_from_the_future_is_refused(seconds_ahead: int) -> None:
    assert is_refused(codec(seconds_later=seconds_ahead).encode(POSITION, SCOPE), codec())


def test_an_item_keeps_its_cursor_within_the_hour_and_no_longer() -> None:
    assert codec(seconds_later=HOUR - 1).encode(POSITION, SCOPE) == CURSOR
    assert codec(seconds_later=HOUR).encode(POSITION, SCOPE) != CURSOR
    assert codec(seconds_later=HOUR).decode(CURSOR, SCOPE) == POSITION
