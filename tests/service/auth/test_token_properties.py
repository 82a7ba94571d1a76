"""No changed token is accepted, and no input breaks the verifier."""

import asyncio
import string
from base64 import urlsafe_b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.auth.claims import principal_from_claims
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.errors import Unauthenticated
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import IdentityProvider, base64url

CLOCK = ManualClock(1_800_000_000.0)
PROVIDERS = {name: IdentityProvider(CLOCK, algorithm=name) for name in ("RS256", "ES256", "EdDSA")}
TOKENS = {name: provider.token() for name, provider in PROVIDERS.items()}
LETTERS = string.ascii_letters + string.digits + "-_"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
CLAIMS = ["iss", "aud", "sub", "exp", "iat", "nbf", "jti", "tenant", "role", "scope"]


def is_accepted(algorithm: str, token: str) -> bool:
    """Whether a verifier that has the valid token in its cache accepts this token."""
    issuer = PROVIDERS[algorithm].issuer()
    verifier = TokenVerifier(
        issuers=[issuer], audience="keyfence", caller_from_claims=principal_from_claims, clock=CLOCK
    )

    async def verify() -> bool:
        await verifier.verify(TOKENS[algorithm])
        try:
            await verifier.verify(token)
        except Unauthenticated:
            return False
        return True

    return asyncio.run(verify())


@given(
    algorithm=st.sampled_from(sorted(TOKENS)),
    position=st.integers(min_value=0),
    character=st.sampled_from(LETTERS + ".= ") | st.characters(),
)
def test_a_token_with_one_character_changed_is_refused(algorithm: str, position: int, character: str) -> None:
    token = TOKENS[algorithm]
    position %= len(token)
    changed = token[:position] + character + token[position + 1 :]
    assert is_accepted(algorithm, changed) == (changed == token)


@given(algorithm=st.sampled_from(sorted(TOKENS)), position=st.integers(min_value=0), character=st.characters())
def test_a_token_with_one_character_more_or_less_is_refused(algorithm: str, position: int, character: str) -> None:
    token = TOKENS[algorithm]
    position %= len(token)
    assert not is_accepted(algorithm, token[:position] + character + token[position:])
    assert not is_accepted(algorithm, token[:position] + token[position + 1 :])


@pytest.mark.parametrize("algorithm", sorted(TOKENS))
def test_a_token_that_differs_only_in_unused_bits_of_base64_is_refused(algorithm: str) -> None:
    token = TOKENS[algorithm]
    signature = token.rpartition(".")[2]
    equivalent_characters = [
        character for character in LETTERS if _decoded(signature[:-1] + character) == _decoded(signature)
    ]
    assert len(equivalent_characters) > 1, (
        "the last character of the signature has no unused bits, so this test would test nothing"
    )
    assert [character for character in equivalent_characters if is_accepted(algorithm, token[:-1] + character)] == [
        token[-1]
    ]


def test_the_second_valid_form_of_an_ecdsa_signature_is_accepted() -> None:
    """(r, n - s) is as valid a signature as (r, s). So a token is identified by its jti claim and not by its text."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    content, _, signature = TOKENS["ES256"].rpartition(".")
    r, s = _decoded(signature)[:32], int.from_bytes(_decoded(signature)[32:], "big")
    assert is_accepted("ES256", f"{content}.{base64url(r + (order - s).to_bytes(32, 'big'))}")


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_breaks_the_verifier(text: str) -> None:
    assert not is_accepted("ES256", text)


@given(st.binary(), st.binary(), st.binary())
def test_no_three_parts_break_the_verifier(header: bytes, payload: bytes, signature: bytes) -> None:
    assert not is_accepted("ES256", ".".join(map(base64url, (header, payload, signature))))


@given(st.dictionaries(st.sampled_from(["alg", "kid", "crit", "b64", "typ"]), JSON))
def test_no_header_breaks_the_verifier(header: dict[str, object]) -> None:
    provider = PROVIDERS["ES256"]
    is_accepted("ES256", provider.sign(provider.claims(), **header))


@given(st.dictionaries(st.sampled_from(CLAIMS), JSON))
def test_no_signed_claims_break_the_verifier(changes: dict[str, object]) -> None:
    is_accepted("ES256", PROVIDERS["ES256"].token(**changes))


def _decoded(letters: str) -> bytes:
    return urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
