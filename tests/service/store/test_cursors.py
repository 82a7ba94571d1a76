"""A cursor is valid only in its scope, and no other input breaks the codec."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.cursor import CursorCodec, CursorPosition, CursorScope
from tests.data.model_strategies import TEXT

SCOPE = CursorScope("TENANT#acme#", "User|gsi2|asc", "{}")
PLACE = CursorPosition("2026-11-16T00:00:00.000000Z#usr_1", "USER#usr_1", "PROFILE")
POSITIONS = st.builds(CursorPosition, st.text(), st.text(), st.text())
SCOPES = st.builds(CursorScope, TEXT, TEXT, TEXT)
ANY = st.text(st.characters(), max_size=40)

SEALER = CursorCodec([b"k" * 32], clock=lambda: 1_800_000_000.0)
CURSOR = SEALER.encode(PLACE, SCOPE)


def refused(cursor: str, scope: CursorScope = SCOPE) -> bool:
    """Whether the cursor is refused with BadInput. Any other error fails the test."""
    try:
        SEALER.decode(cursor, scope)
    except BadInput:
        return True
    return False


@given(POSITIONS, SCOPES)
def test_an_encoded_position_is_decoded(position: CursorPosition, scope: CursorScope) -> None:
    assert SEALER.decode(SEALER.encode(position, scope), scope) == position


@pytest.mark.parametrize("character", ["a", "é", "🙂", "\\", "/", '"', "\u2028"])
def test_the_longest_possible_keys_are_decoded(character: str) -> None:
    def filled(size: int) -> str:
        return character * (size // len(character.encode()))

    position = CursorPosition(filled(1024), filled(2048), filled(1024))
    assert SEALER.decode(SEALER.encode(position, SCOPE), SCOPE) == position


@given(st.integers(0, len(CURSOR) - 1), st.characters())
def test_a_cursor_with_one_character_changed_is_refused(place: int, character: str) -> None:
    changed = CURSOR[:place] + character + CURSOR[place + 1 :]
    assert refused(changed) == (changed != CURSOR)


@given(st.integers(0, len(CURSOR) * 6 - 1))
def test_a_cursor_with_one_bit_flipped_is_refused(bit: int) -> None:
    raw = bytearray(urlsafe_b64decode(CURSOR + "=="))
    raw[bit // 8 % len(raw)] ^= 1 << bit % 8
    assert refused(urlsafe_b64encode(raw).rstrip(b"=").decode())


def test_the_error_names_the_argument() -> None:
    with pytest.raises(BadInput) as refusal:
        SEALER.decode("x", SCOPE)
    assert refusal.value.extensions == {"field": "after"}


def test_every_shortened_cursor_is_refused() -> None:
    assert all(refused(CURSOR[:size]) and refused(CURSOR[size + 1 :]) for size in range(len(CURSOR)))


@given(st.text(st.characters(), min_size=1, max_size=5) | st.sampled_from(["=", "==", "\n", " ", "AAAA"]))
def test_an_extended_cursor_is_refused(more: str) -> None:
    assert refused(CURSOR + more)
    assert refused(more + CURSOR)


@pytest.mark.parametrize("position", [CursorPosition(*["x" * size] * 3) for size in range(3)])
def test_the_unused_bits_of_base64_give_no_second_valid_text(position: CursorPosition) -> None:
    cursor = SEALER.encode(position, SCOPE)
    raw = urlsafe_b64decode(cursor + "==")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/"
    twins = [cursor[:-1] + letter for letter in letters if urlsafe_b64decode(cursor[:-1] + letter + "==") == raw]
    assert [twin for twin in twins if not refused(twin)] == [cursor]


@given(ANY)
@example("")
@example("=")
@example("null")
@example("\ud800")
@example("\u0661\u0662")
def test_no_text_is_a_cursor(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize("size", [6_143, 6_144, 6_145, 20_000, 1_000_000])
@pytest.mark.parametrize("character", ["A", "é", "🙂", "\ud800", "="])
def test_no_text_of_any_length_is_a_cursor(character: str, size: int) -> None:
    assert refused(character * size)


@given(st.binary(max_size=80))
def test_no_bytes_are_a_cursor(raw: bytes) -> None:
    assert refused(urlsafe_b64encode(raw).rstrip(b"=").decode())


@given(SCOPES, SCOPES)
def test_a_cursor_is_decoded_in_no_other_scope(one: CursorScope, other: CursorScope) -> None:
    assert refused(SEALER.encode(PLACE, one), other) == (one != other)


@pytest.mark.parametrize(
    "other",
    [
        replace(SCOPE, fence="TENANT#globex#"),
        replace(SCOPE, fence="TENANT#acmecorp#"),
        replace(SCOPE, fence="CONTROL#"),
        replace(SCOPE, pattern="User|gsi2|desc"),
        replace(SCOPE, arguments='{"a":"b"}'),
        CursorScope("TENANT#acme#User|", "gsi2|asc", "{}"),
        CursorScope("TENANT#acme#", "User|gsi2|asc{}", ""),
        CursorScope("User|gsi2|asc", "TENANT#acme#", "{}"),
    ],
)
def test_a_cursor_is_bound_to_its_tenant_its_pattern_and_its_arguments(other: CursorScope) -> None:
    assert not refused(CURSOR)
    assert refused(CURSOR, other)


@given(POSITIONS, POSITIONS)
def test_two_positions_never_share_a_cursor(one: CursorPosition, other: CursorPosition) -> None:
    assert (SEALER.encode(one, SCOPE) == SEALER.encode(other, SCOPE)) == (one == other)


@given(st.text("abcdefgh", min_size=8))
def test_a_cursor_does_not_reveal_its_content(id: str) -> None:
    assert id.encode() not in urlsafe_b64decode(SEALER.encode(CursorPosition(id, id, id), SCOPE) + "==")
