"""A session token can be decrypted for its own access key with its gate's key only."""

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
SEAL = TokenCipher(b"k" * 32)
NAMES = st.text(max_size=20)
GRANTS = st.builds(
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


def grant(**more: Any) -> SessionClaims:
    return SessionClaims(role="room", role_id="AROA", session_name="night", issued_at=ISSUED, expires_at=ISSUED, **more)


TOKEN = SEAL.encrypt(grant(), "ASIAAAAAAAAAAAAAAAAA")


@given(GRANTS, ACCESS_KEYS)
def test_encrypted_claims_are_decrypted_unchanged(granted: SessionClaims, access_key: str) -> None:
    assert TokenCipher(b"k" * 32).decrypt(SEAL.encrypt(granted, access_key), access_key) == granted


@given(GRANTS, ACCESS_KEYS, ACCESS_KEYS)
def test_a_token_is_valid_for_one_access_key_and_one_gate(granted: SessionClaims, own: str, other: str) -> None:
    token = SEAL.encrypt(granted, own)
    with pytest.raises(InvalidSessionToken):
        SEAL.decrypt(token, other)
    with pytest.raises(InvalidSessionToken):
        TokenCipher(b"x" * 32).decrypt(token, own)


@given(st.integers(0, 8 * len(b64decode(TOKEN)) - 1))
def test_a_token_with_one_bit_flipped_is_invalid(bit: int) -> None:
    raw = bytearray(b64decode(TOKEN))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(InvalidSessionToken):
        SEAL.decrypt(b64encode(raw).decode(), "ASIAAAAAAAAAAAAAAAAA")


@given(st.text() | st.binary().map(lambda raw: b64encode(raw).decode()))
def test_no_other_text_is_a_valid_token(text: str) -> None:
    with pytest.raises(InvalidSessionToken):
        SEAL.decrypt(text, "ASIAAAAAAAAAAAAAAAAA")


@pytest.mark.parametrize("spelled", [f"{TOKEN}\n", f" {TOKEN}", f"{TOKEN}=", f"{TOKEN}===="])
def test_a_token_has_one_spelling(spelled: str) -> None:
    with pytest.raises(InvalidSessionToken):
        SEAL.decrypt(spelled, "ASIAAAAAAAAAAAAAAAAA")


@pytest.mark.parametrize("name", ["", "a", "ab", "abc"])
def test_unused_bits_of_base64_give_no_second_spelling(name: str) -> None:
    token = SEAL.encrypt(grant(tags={"name": name}), "ASIAAAAAAAAAAAAAAAAA")
    bare = token.rstrip("=")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    spellings = [bare[:-1] + letter + token[len(bare) :] for letter in letters]
    twins = [one for one in spellings if b64decode(one) == b64decode(token)]
    for twin in twins:
        if twin != token:
            with pytest.raises(InvalidSessionToken):
                SEAL.decrypt(twin, "ASIAAAAAAAAAAAAAAAAA")
    assert token in twins


@pytest.mark.parametrize("smallest", [0, 1, 200, 201, 202, 203, 1000, 4093, 4096])
def test_a_minimum_size_is_reached_by_padding(smallest: int) -> None:
    token = SEAL.encrypt(grant(), "ASIAAAAAAAAAAAAAAAAA", smallest)
    assert smallest <= len(token) <= max(smallest + 3, len(TOKEN))
    assert SEAL.decrypt(token, "ASIAAAAAAAAAAAAAAAAA") == grant()


def test_claims_that_do_not_fit_into_4096_bytes_are_rejected() -> None:
    noise = random.Random(1)
    tags = {f"k{number}": "".join(chr(noise.randrange(0x4E00, 0x9FFF)) for _ in range(200)) for number in range(20)}
    with pytest.raises(TokenTooLarge) as refused:
        SEAL.encrypt(grant(tags=tags), "ASIAAAAAAAAAAAAAAAAA")
    assert refused.value.utilization > 100
    assert len(SEAL.encrypt(grant(tags={"tenant": "acme"}), "ASIAAAAAAAAAAAAAAAAA")) < MAX_TOKEN_SIZE // 10


def test_a_token_reveals_nothing_of_its_claims() -> None:
    token = SEAL.encrypt(grant(tags={"tenant": "acmecorporation"}), "ASIAAAAAAAAAAAAAAAAA")
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
def test_a_gate_key_has_32_bytes(key: bytes) -> None:
    with pytest.raises(InvalidGateKey, match="32 bytes"):
        TokenCipher(key)
