"""A session token can only be decrypted with the key of its gate and for its own access key."""

import random
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.gate.account.session_token import (
    MAX_TOKEN_SIZE,
    InvalidGateKey,
    InvalidSessionToken,
    SessionClaims,
    TokenCipher,
    TokenTooLarge,
    is_access_key,
    new_access_key,
    secret_key_for,
)

ISSUED = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
CIPHER = TokenCipher(b"k" * 32)
NAMES = st.text(max_size=20)
CLAIMS = st.builds(
    SessionClaims,
    role=NAMES,
    role_id=NAMES,
    session_name=NAMES,
    issued_at=st.just(ISSUED),
    expires_at=st.integers(900, 43_200).map(lambda seconds: ISSUED + timedelta(seconds=seconds)),
    tags=st.dictionaries(NAMES, NAMES, max_size=4),
    transitive_tag_keys=st.lists(NAMES, max_size=3).map(tuple),
    policy=st.none() | NAMES,
    policy_arns=st.lists(NAMES, max_size=3).map(tuple),
    source_identity=st.none() | NAMES,
)
ACCESS_KEYS = st.builds(new_access_key)


def claims(**fields: Any) -> SessionClaims:
    return SessionClaims(
        role="reader", role_id="AROA", session_name="test", issued_at=ISSUED, expires_at=ISSUED, **fields
    )


TOKEN = CIPHER.encrypt(claims(), "ASIAAAAAAAAAAAAAAAAA")


@given(CLAIMS, ACCESS_KEYS)
def test_encrypted_claims_are_decrypted_unchanged(session_claims: SessionClaims, access_key: str) -> None:
    assert TokenCipher(b"k" * 32).decrypt(CIPHER.encrypt(session_claims, access_key), access_key) == session_claims


@given(CLAIMS, ACCESS_KEYS, ACCESS_KEYS)
def test_a_token_is_valid_for_one_access_key_and_one_gate(session_claims: SessionClaims, own: str, other: str) -> None:
    token = CIPHER.encrypt(session_claims, own)
    with pytest.raises(InvalidSessionToken):
        CIPHER.decrypt(token, other)
    with pytest.raises(InvalidSessionToken):
        TokenCipher(b"x" * 32).decrypt(token, own)


@given(st.integers(0, 8 * len(b64decode(TOKEN)) - 1))
def test_a_token_with_one_bit_flipped_is_invalid(bit: int) -> None:
    raw = bytearray(b64decode(TOKEN))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(InvalidSessionToken):
        CIPHER.decrypt(b64encode(raw).decode(), "ASIAAAAAAAAAAAAAAAAA")


@given(st.text() | st.binary().map(lambda raw: b64encode(raw).decode()))
def test_any_other_text_is_an_invalid_token(text: str) -> None:
    with pytest.raises(InvalidSessionToken):
        CIPHER.decrypt(text, "ASIAAAAAAAAAAAAAAAAA")


@pytest.mark.parametrize("text", [f"{TOKEN}\n", f" {TOKEN}", f"{TOKEN}=", f"{TOKEN}===="])
def test_a_token_with_added_characters_is_invalid(text: str) -> None:
    with pytest.raises(InvalidSessionToken):
        CIPHER.decrypt(text, "ASIAAAAAAAAAAAAAAAAA")


@pytest.mark.parametrize("name", ["", "a", "ab", "abc"])
def test_a_token_with_other_unused_bits_of_base64_is_invalid(name: str) -> None:
    token = CIPHER.encrypt(claims(tags={"name": name}), "ASIAAAAAAAAAAAAAAAAA")
    unpadded = token.rstrip("=")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    candidates = [unpadded[:-1] + letter + token[len(unpadded) :] for letter in letters]
    equal_texts = [text for text in candidates if b64decode(text) == b64decode(token)]
    for text in equal_texts:
        if text != token:
            with pytest.raises(InvalidSessionToken):
                CIPHER.decrypt(text, "ASIAAAAAAAAAAAAAAAAA")
    assert token in equal_texts


@pytest.mark.parametrize("minimum_size", [0, 1, 200, 201, 202, 203, 1000, 4093, 4096])
def test_a_token_has_at_least_its_minimum_size(minimum_size: int) -> None:
    token = CIPHER.encrypt(claims(), "ASIAAAAAAAAAAAAAAAAA", minimum_size)
    assert minimum_size <= len(token) <= max(minimum_size + 3, len(TOKEN))
    assert CIPHER.decrypt(token, "ASIAAAAAAAAAAAAAAAAA") == claims()


def test_claims_that_do_not_fit_into_4096_bytes_are_rejected() -> None:
    rng = random.Random(1)
    tags = {f"k{number}": "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(200)) for number in range(20)}
    with pytest.raises(TokenTooLarge) as error:
        CIPHER.encrypt(claims(tags=tags), "ASIAAAAAAAAAAAAAAAAA")
    assert error.value.utilization > 100
    assert len(CIPHER.encrypt(claims(tags={"tenant": "acme"}), "ASIAAAAAAAAAAAAAAAAA")) < MAX_TOKEN_SIZE // 10


def test_a_token_reveals_nothing_of_its_claims() -> None:
    token = CIPHER.encrypt(claims(tags={"tenant": "acmecorporation"}), "ASIAAAAAAAAAAAAAAAAA")
    assert b"acmecorporation" not in b64decode(token)


def test_access_keys_look_like_those_of_aws_and_secrets_are_derived_from_them() -> None:
    one, other = new_access_key(), new_access_key()
    assert one != other
    assert is_access_key(one)
    assert len(one) == 20
    assert secret_key_for(b"s" * 64, one) == secret_key_for(b"s" * 64, one) != secret_key_for(b"s" * 64, other)
    assert secret_key_for(b"s" * 64, one) != secret_key_for(b"t" * 64, one)
    assert len(secret_key_for(b"s" * 64, one)) == 40


@pytest.mark.parametrize("key", [b"", b"k" * 31, b"k" * 33])
def test_a_gate_key_without_32_bytes_is_rejected(key: bytes) -> None:
    with pytest.raises(InvalidGateKey, match="32 bytes"):
        TokenCipher(key)
