"""Checks and keys of users, without a table."""

from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings

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
from keyfence.email_address import MAX_EMAIL_LENGTH, checked_email
from keyfence.errors import BadInput
from keyfence.store.ids import new_id
from keyfence.store.shards import UNSHARDED
from tests.data.bookshop import OPENING
from tests.fakes.fences import tenant_fence

ACME = tenant_fence("acme")
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


@pytest.mark.parametrize("character", KEY_CHARACTERS)
def test_every_accepted_email_fits_its_keys(character: str) -> None:
    email = checked_email(character * (MAX_EMAIL_LENGTH - 2) + "@b")
    claim = EmailClaim(email=email, user_id=UserId("usr_1"), created_at=OPENING, updated_at=OPENING)
    assert users.to_item(user(email), ACME, UNSHARDED)["GSI1PK"]["S"].startswith(f"{ACME.index_prefix}EMAIL#")
    assert email_claims.to_item(claim, ACME, UNSHARDED)["PK"]["S"].startswith("TENANT#acme#USEREMAIL#")


@pytest.mark.parametrize("character", KEY_CHARACTERS)
def test_every_accepted_setting_name_fits_its_key(character: str) -> None:
    name = character * MAX_SETTING_NAME_LENGTH
    setting = Setting(user_id=UserId("usr_1"), name=name, text="1", created_at=OPENING, updated_at=OPENING)
    assert settings.to_item(setting, ACME, UNSHARDED)["SK"]["S"].startswith("SETTINGS#")


def test_all_spellings_of_an_email_have_the_keys_of_one_address() -> None:
    emails = ("zoë@bücher.example", "ZOE\u0308@xn--bcher-kva.EXAMPLE")
    claims = [
        EmailClaim(email=email, user_id=UserId("usr_1"), created_at=OPENING, updated_at=OPENING) for email in emails
    ]
    assert len({users.to_item(user(email), ACME, UNSHARDED)["GSI1PK"]["S"] for email in emails}) == 1
    assert len({email_claims.to_item(claim, ACME, UNSHARDED)["PK"]["S"] for claim in claims}) == 1


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
