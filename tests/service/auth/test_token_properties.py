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
from tests.fakes.identity_provider import IdentityProvider, part

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


def accepted(algorithm: str, token: str) -> bool:
    """Uses a verifier that has the valid token in its cache."""
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
    place=st.integers(min_value=0),
    letter=st.sampled_from(LETTERS + ".= ") | st.characters(),
)
def test_a_token_with_one_character_changed_is_refused(algorithm: str, place: int, letter: str) -> None:
    token = TOKENS[algorithm]
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]
    assert accepted(algorithm, changed) == (changed == token)


@given(algorithm=st.sampled_from(sorted(TOKENS)), place=st.integers(min_value=0), letter=st.characters())
def test_a_token_with_one_character_more_or_less_is_refused(algorithm: str, place: int, letter: str) -> None:
    token = TOKENS[algorithm]
    place %= len(token)
    assert not accepted(algorithm, token[:place] + letter + token[place:])
    assert not accepted(algorithm, token[:place] + token[place + 1 :])


@pytest.mark.parametrize("algorithm", sorted(TOKENS))
def test_the_unused_bits_of_base64_give_no_second_valid_text(algorithm: str) -> None:
    token = TOKENS[algorithm]
    signature = token.rpartition(".")[2]
    twins = [letter for letter in LETTERS if _decoded(signature[:-1] + letter) == _decoded(signature)]
    assert len(twins) > 1, "the signature's last letter has unused bits, or this test tests nothing"
    assert [letter for letter in twins if accepted(algorithm, token[:-1] + letter)] == [token[-1]]


def test_the_second_valid_form_of_an_ecdsa_signature_changes_nothing_but_the_token() -> None:
    """(r, n - s) is as valid a signature as (r, s). Therefore the id of a token is a claim and not its text."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    content, _, signature = TOKENS["ES256"].rpartition(".")
    r, s = _decoded(signature)[:32], int.from_bytes(_decoded(signature)[32:], "big")
    assert accepted("ES256", f"{content}.{part(r + (order - s).to_bytes(32, 'big'))}")


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_breaks_the_verifier(text: str) -> None:
    assert not accepted("ES256", text)


@given(st.binary(), st.binary(), st.binary())
def test_no_three_parts_break_the_verifier(header: bytes, payload: bytes, signature: bytes) -> None:
    assert not accepted("ES256", ".".join(map(part, (header, payload, signature))))


@given(st.dictionaries(st.sampled_from(["alg", "kid", "crit", "b64", "typ"]), JSON))
def test_no_header_breaks_the_verifier(header: dict[str, object]) -> None:
    provider = PROVIDERS["ES256"]
    accepted("ES256", provider.sign(provider.claims(), **header))


@given(st.dictionaries(st.sampled_from(CLAIMS), JSON))
def test_no_signed_claims_break_the_verifier(changes: dict[str, object]) -> None:
    accepted("ES256", PROVIDERS["ES256"].token(**changes))


def _decoded(letters: str) -> bytes:
    return urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
