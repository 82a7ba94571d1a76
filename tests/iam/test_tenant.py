"""Tenant ids have one form, and no tenant's key prefix is a prefix of another's."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import (
    CONTROL_PLANE_PREFIX,
    TENANT_ID_PATTERN,
    InvalidTenantId,
    parse_tenant_id,
    session_key_prefix,
    tenant_key_prefix,
    tenant_of_key,
)

INNER = string.ascii_lowercase + string.digits + "-"
TENANTS = st.from_regex(TENANT_ID_PATTERN, fullmatch=True)


def well_formed(text: str) -> bool:
    return 2 <= len(text) <= 32 and set(text) <= set(INNER) and text[0] != "-" and text[-1] != "-"


@given(st.text(INNER, max_size=34) | st.text(INNER + "#A\n _.:/*é\u0663", max_size=5) | st.text(st.characters()))
@example("a1")
@example("a" * 32)
@example("a" * 33)
@example("acme\n")
def test_a_tenant_id_is_2_to_32_small_letters_digits_and_inner_hyphens(text: str) -> None:
    if well_formed(text):
        assert parse_tenant_id(text) == text
    else:
        with pytest.raises(InvalidTenantId):
            parse_tenant_id(text)


@pytest.mark.parametrize(
    "value", [None, 1, b"acme", ["acme"], {"acme": 1}, True, "", "Acme", "acme#", "a*", "a?c", "a_c", "a.c"]
)
def test_a_value_that_is_not_a_tenant_id_is_rejected(value: object) -> None:
    with pytest.raises(InvalidTenantId):
        parse_tenant_id(value)


@given(TENANTS, TENANTS)
@example("a1", "a10")
@example("acme", "acmecorp")
@example("ab", "ab-c")
def test_no_key_prefix_begins_with_another(one: str, other: str) -> None:
    assert tenant_key_prefix(one).startswith(tenant_key_prefix(other)) == (one == other)
    assert not tenant_key_prefix(one).startswith(CONTROL_PLANE_PREFIX)
    assert not CONTROL_PLANE_PREFIX.startswith(tenant_key_prefix(one))


def test_key_prefixes_have_the_form_that_policies_expect() -> None:
    assert tenant_key_prefix("acme") == "TENANT#acme#"
    assert CONTROL_PLANE_PREFIX == "CONTROL#"


@given(TENANTS)
def test_the_tenant_of_a_key_is_the_tenant_in_its_prefix(tenant: str) -> None:
    assert tenant_of_key(f"{tenant_key_prefix(tenant)}USER#1") == tenant
    assert tenant_of_key(f"{CONTROL_PLANE_PREFIX}{tenant_key_prefix(tenant)}") is None


@pytest.mark.parametrize(
    ("tags", "prefix"),
    [
        ({"tenant": "acme"}, "TENANT#acme#"),
        ({"Tenant": "acme"}, "TENANT#acme#"),
        ({"tenant": ""}, "TENANT##"),
        ({"team": "acme"}, "CONTROL#"),
        ({}, "CONTROL#"),
    ],
    ids=str,
)
def test_a_session_writes_keys_with_the_prefix_of_its_tag(tags: dict[str, str], prefix: str) -> None:
    assert session_key_prefix(tags) == prefix


def test_the_repr_of_credentials_has_no_secrets() -> None:
    printed = repr(Credentials("AKIA", "hush", "hush"))
    assert "AKIA" in printed
    assert "hush" not in printed
