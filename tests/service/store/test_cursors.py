"""A cursor is valid only in its scope, and every other input is refused as bad input."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.cursor import CursorCodec, CursorPosition, CursorScope
from tests.data.model_strategies import TEXT

SCOPE = CursorScope("TENANT#acme#", "User|gsi2|asc", "{}")
POSITION = CursorPosition("2026-11-16T00:00:00.000000Z#usr_1", "USER#usr_1", "PROFILE")
POSITIONS = st.builds(CursorPosition, st.text(), st.text(), st.text())
SCOPES = st.builds(CursorScope, TEXT, TEXT, TEXT)
ANY_TEXT = st.text(st.characters(), max_size=40)

CODEC = CursorCodec([b"k" * 32], clock=lambda: 1_800_000_000.0)
CURSOR = CODEC.encode(POSITION, SCOPE)


def is_refused(cursor: str, scope: CursorScope = SCOPE) -> bool:
    """Whether the cursor is refused with BadInput. Any other error fails the test."""
    try:
        CODEC.decode(cursor, scope)
    except BadInput:
        return True
    return False


@given(POSITIONS, SCOPES)
def test_an_encoded_position_is_decoded(position: CursorPosition, scope: CursorScope) -> None:
    assert CODEC.decode(CODEC.encode(position, scope), scope) == position


@pytest.mark.parametrize("character", ["a", "é", "🙂", "\\", "/", '"', "\u2028"])
def test_the_longest_possible_keys_are_decoded(character: str) -> None:
    def with_length(size: int) -> str:
        return character * (size // len(character.encode()))

    position = CursorPosition(with_length(1024), with_length(2048), with_length(1024))
    assert CODEC.decode(CODEC.encode(position, SCOPE), SCOPE) == position


@given(st.integers(0, len(CURSOR) - 1), st.characters())
def test_a_cursor_with_one_character_changed_is_refused(index: int, character: str) -> None:
    changed = CURSOR[:index] + character + CURSOR[index + 1 :]
    assert is_refused(changed) == (changed != CURSOR)


@given(st.integers(0, len(CURSOR) * 6 - 1))
def test_a_cursor_with_one_bit_flipped_is_refused(bit: int) -> None:
    decoded = bytearray(urlsafe_b64decode(CURSOR + "=="))
    decoded[bit // 8 % len(decoded)] ^= 1 << bit % 8
    assert is_refused(urlsafe_b64encode(decoded).rstrip(b"=").decode())


def test_the_error_names_the_argument() -> None:
    with pytest.raises(BadInput) as raised:
        CODEC.decode("x", SCOPE)
    assert raised.value.extensions == {"field": "after"}


def test_every_shortened_cursor_is_refused() -> None:
    assert all(is_refused(CURSOR[:size]) and is_refused(CURSOR[size + 1 :]) for size in range(len(CURSOR)))


@given(st.text(st.characters(), min_size=1, max_size=5) | st.sampled_from(["=", "==", "\n", " ", "AAAA"]))
def test_an_extended_cursor_is_refused(extra_text: str) -> None:
    assert is_refused(CURSOR + extra_text)
    assert is_refused(extra_text + CURSOR)


@pytest.mark.parametrize("position", [CursorPosition(*["x" * size] * 3) for size in range(3)])
def test_the_unused_bits_of_base64_give_no_second_valid_text(position: CursorPosition) -> None:
    cursor = CODEC.encode(position, SCOPE)
    decoded = urlsafe_b64decode(cursor + "==")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/"
    variants = [cursor[:-1] + letter for letter in letters if urlsafe_b64decode(cursor[:-1] + letter + "==") == decoded]
    assert [variant for variant in variants if not is_refused(variant)] == [cursor]


@given(ANY_TEXT)
@example("")
@example("=")
@example("null")
@example("\ud800")
@example("\u0661\u0662")
def test_any_other_text_is_refused_as_a_cursor(text: str) -> None:
    assert is_refused(text)


@pytest.mark.parametrize("size", [6_143, 6_144, 6_145, 20_000, 1_000_000])
@pytest.mark.parametrize("character", ["A", "é", "🙂", "\ud800", "="])
def test_a_text_of_any_length_is_refused_as_a_cursor(character: str, size: int) -> None:
    assert is_refused(character * size)


@given(st.binary(max_size=80))
def test_random_bytes_are_refused_as_a_cursor(decoded: bytes) -> None:
    assert is_refused(urlsafe_b64encode(decoded).rstrip(b"=").decode())


@given(SCOPES, SCOPES)
def test_a_cursor_is_decoded_in_no_other_scope(one: CursorScope, other: CursorScope) -> None:
    assert is_refused(CODEC.encode(POSITION, one), other) == (one != other)


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
    assert not is_refused(CURSOR)
    assert is_refused(CURSOR, other)


@given(POSITIONS, POSITIONS)
def test_two_positions_never_share_a_cursor(one: CursorPosition, other: CursorPosition) -> None:
    assert (CODEC.encode(one, SCOPE) == CODEC.encode(other, SCOPE)) == (one == other)


@given(st.text("abcdefgh", min_size=8))
def test_a_cursor_does_not_reveal_its_content(id: str) -> None:
    assert id.encode() not in urlsafe_b64decode(CODEC.encode(CursorPosition(id, id, id), SCOPE) + "==")
