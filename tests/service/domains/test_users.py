"""Checks and keys of users, without a table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import email_claims, settings, users
from keyfence.domains.users.model import (
    MAX_NAME_LENGTH,
    MAX_SETTING_NAME_LENGTH,
    EmailClaim,
    Setting,
    User,
    UserId,
    checked_name,
    is_alive,
)
from keyfence.domains.users.repository import checked_user_id
from keyfence.errors import BadInput
from keyfence.store.ids import new_id
from keyfence.store.keys import Fence
from keyfence.store.shards import UNSHARDED
from keyfence.validation import MAX_EMAIL_LENGTH, checked_email
from keyfence_iam.tenant import TenantId
from tests.data.bookshop import OPENING

ACME = Fence.for_tenant(TenantId("acme"))
UNTIMED = hypothesis_settings(deadline=None)
KEY_CHARACTERS = ["a", "é", "🙂", "#", "%"]


def user(email: str = "ann@acme.example", **fields: Any) -> User:
    defaults: dict[str, Any] = {
        "id": UserId("usr_1"),
        "name": "Ann",
        "role": Role.MEMBER,
        "created_at": OPENING,
        "updated_at": OPENING,
    }
    return User(**{**defaults, "email": email, **fields})


@pytest.mark.parametrize(
    "email", ["a@b", "ann@acme.example", "Ann.B+c@ACME.example", "zoë@bücher.example", "a#b%@c", f"{'a' * 252}@b"]
)
def test_an_email_is_returned_unchanged(email: str) -> None:
    assert checked_email(email) == email


@pytest.mark.parametrize(
    "email",
    [
        "",
        "@",
        "a@",
        "@b",
        "ab",
        "a@b@c",
        "a b@c",
        "a@b c",
        " a@b",
        "a@b\n",
        "a\x00@b",
        "a\x7f@b",
        "a\u00a0@b",
        f"{'a' * 253}@b",
    ],
)
def test_an_invalid_email_is_bad_input_with_the_name_of_the_field(email: str) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_email(email)
    assert refusal.value.extensions == {"field": "email"}


@given(st.text(st.characters()))
def test_any_text_is_a_valid_email_or_bad_input(text: str) -> None:
    try:
        accepted = checked_email(text)
    except BadInput:
        return
    assert accepted.count("@") == 1
    assert accepted.split() == [accepted]


@pytest.mark.parametrize("character", KEY_CHARACTERS)
def test_every_accepted_email_fits_its_keys(character: str) -> None:
    email = checked_email(character * (MAX_EMAIL_LENGTH - 2) + "@b")
    claim = EmailClaim(email=email, user_id=UserId("usr_1"), created_at=OPENING, updated_at=OPENING)
    assert users.to_item(user(email), ACME, UNSHARDED)["GSI1PK"]["S"].startswith("TENANT#acme#EMAIL#")
    assert email_claims.to_item(claim, ACME, UNSHARDED)["PK"]["S"].startswith("TENANT#acme#USEREMAIL#")


@pytest.mark.parametrize("character", KEY_CHARACTERS)
def test_every_accepted_setting_name_fits_its_key(character: str) -> None:
    name = character * MAX_SETTING_NAME_LENGTH
    setting = Setting(user_id=UserId("usr_1"), name=name, text="1", created_at=OPENING, updated_at=OPENING)
    assert settings.to_item(setting, ACME, UNSHARDED)["SK"]["S"].startswith("SETTINGS#")


def test_emails_are_case_sensitive() -> None:
    keys = {users.to_item(user(email), ACME, UNSHARDED)["GSI1PK"]["S"] for email in ("ann@b", "Ann@b", "ann@B")}
    assert len(keys) == 3


def test_a_name_has_at_most_200_characters_and_is_not_blank() -> None:
    assert checked_name("a" * MAX_NAME_LENGTH) == "a" * MAX_NAME_LENGTH
    for name in ("", "   ", "a" * (MAX_NAME_LENGTH + 1), "a\nb"):
        with pytest.raises(BadInput):
            checked_name(name)


def test_a_deleted_user_is_in_no_index() -> None:
    deleted = user(deleted_at=OPENING)
    assert is_alive(user())
    assert not is_alive(deleted)
    assert set(users.key_attributes(user(), ACME, UNSHARDED)) == {"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"}
    assert set(users.key_attributes(deleted, ACME, UNSHARDED)) == {"PK", "SK"}


def test_only_ids_with_the_prefix_of_users_are_user_ids() -> None:
    assert checked_user_id(good := new_id("usr")) == good
    for text in (new_id("grp"), "usr_1", ""):
        with pytest.raises(BadInput):
            checked_user_id(text)
