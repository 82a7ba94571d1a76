"""Email addresses: the refused ones, and the spellings that are one address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.email_address import MAX_EMAIL_LENGTH, checked_email, email_key
from keyfence.errors import BadInput

SPELLINGS = {
    "case": ("case@ex", "CASE@ex", "Case@EX"),
    "NFC and NFD": ("zo\u00eb@b", "zoe\u0308@b", "ZO\u00cb@b", "ZOE\u0308@b"),
    "compatibility characters": ("file@b", "\ufb01le@b", "\uff26\uff29\uff2c\uff25@b"),
    "folds to two letters": ("strasse@b", "stra\u00dfe@b", "STRA\u1e9eE@b"),
    "final sigma": ("\u03c3\u03ac\u03c2@b", "\u03a3\u0386\u03a3@b"),
    "host in Unicode and in Punycode": (
        "a@b\u00fccher.ex",
        "a@xn--bcher-kva.ex",
        "a@XN--BCHER-KVA.ex",
        "a@BU\u0308CHER.ex",
    ),
    "full stops of other scripts": ("a@b.ex", "a@b\u3002ex", "a@b\uff0eex", "a@b\uff61ex"),
    "full-width host": ("a@b1.ex", "a@\uff42\uff11.ex"),
}
DIFFERENT_ADDRESSES = {
    "name": ("ann@b", "anne@b"),
    "accent": ("zoe@b", "zo\u00eb@b"),
    "hosts that only IDNA 2003 confuses": ("a@stra\u00dfe.ex", "a@strasse.ex"),
    "final sigma in the host": ("a@\u03c3\u03c2.ex", "a@\u03c3\u03c3.ex"),
    "plus": ("a+b@c", "a@c"),
    "dots in the name": ("a.b@c", "ab@c"),
    "separators of keys": ("a#b@c", "a%23b@c"),
    "letters of two alphabets": ("a@b", "\u0430@b"),
}
INVISIBLE = {
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "right-to-left override": "\u202e",
    "left-to-right isolate": "\u2066",
    "language tag": "\U000e0061",
    "variation selector": "\ufe0f",
    "combining grapheme joiner": "\u034f",
    "Hangul filler": "\u3164",
    "half-width Hangul filler": "\uffa0",
    "blank Braille pattern": "\u2800",
    "NUL": "\x00",
    "line feed": "\n",
    "DEL": "\x7f",
    "C1 control": "\x85",
    "lone surrogate": "\ud800",
    "private use": "\ue000",
    "unassigned": "\u0378",
}
NO_ADDRESS = ["", "@", "a@", "@b", "ab", "a@b@c", "a b@c", "a@b c", " a@b", "a\u00a0@b", "a\u3000@b", f"{'a' * 253}@b",
              "a\uff20b", "a\uff20b@c", "a\ufe6bb@c", "a\u00a8@b", "\ufdfa" * 15 + "@b"]  # fmt: skip
NO_HOST = ["a@b.", "a@.b", "a@b..c", "a@-b", "a@b-", "a@b_c", "a@[127.0.0.1]", "a@b\uff20c", "a@xn--a", "a@b\uff0fc",
           "a@\U0001f4a9", f"a@{'b' * 64}"]  # fmt: skip


@pytest.mark.parametrize("spellings", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_of_one_address_have_one_key(spellings: tuple[str, ...]) -> None:
    assert {email_key(spelling) for spelling in spellings} == {email_key(spellings[0])}


@pytest.mark.parametrize(("one", "other"), DIFFERENT_ADDRESSES.values(), ids=DIFFERENT_ADDRESSES)
def test_two_addresses_have_two_keys(one: str, other: str) -> None:
    assert email_key(one) != email_key(other)


@pytest.mark.parametrize("email", [*sum(SPELLINGS.values(), ()), "a#b%@c", "\U0001f642@b", f"{'a' * 252}@b"])
def test_an_accepted_email_is_returned_as_it_was_typed(email: str) -> None:
    assert checked_email(email) == email


@pytest.mark.parametrize("template", ["a{}b@c", "{}a@c", "a@b{}c", "a@b{}"])
@pytest.mark.parametrize("character", INVISIBLE.values(), ids=INVISIBLE)
def test_an_invisible_character_is_refused_with_its_code_and_position(character: str, template: str) -> None:
    email = template.format(character)
    with pytest.raises(BadInput) as refusal:
        checked_email(email, "ownerEmail")
    position = email.index(character) + 1
    assert refusal.value.message == (
        "ownerEmail must not have invisible, control or unassigned characters; "
        f"remove U+{ord(character):04X} at position {position}"
    )
    assert refusal.value.extensions == {"field": "ownerEmail"}


@pytest.mark.parametrize("email", NO_ADDRESS)
def test_text_that_is_no_address_is_refused_with_the_expected_form(email: str) -> None:
    with pytest.raises(BadInput, match=f"like name@host, of at most {MAX_EMAIL_LENGTH} characters") as refusal:
        checked_email(email)
    assert refusal.value.extensions == {"field": "email"}


@pytest.mark.parametrize("email", NO_HOST)
def test_a_host_that_is_no_domain_name_is_refused(email: str) -> None:
    with pytest.raises(BadInput, match="email must have a domain name after the @") as refusal:
        checked_email(email)
    assert refusal.value.extensions == {"field": "email"}


@given(st.text(st.characters()), st.sampled_from(["b", "B\u00fccher.ex"]) | st.text(st.characters(), max_size=5))
def test_the_key_of_any_accepted_email_is_an_address_and_its_own_key(name: str, host: str) -> None:
    try:
        key = email_key(f"{name}@{host}")
    except BadInput:
        return
    assert key.count("@") == 1
    assert key.split() == [key]
    assert email_key(key) == key
