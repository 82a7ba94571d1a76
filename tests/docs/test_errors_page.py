"""The page about errors has every error code, every limit of queries, and the maximum length of values."""

from dataclasses import asdict

from keyfence.auth.claims import MAX_CLAIM_LENGTH
from keyfence.domains.groups.model import MAX_DESCRIPTION_LENGTH
from keyfence.domains.groups.model import MAX_NAME_LENGTH as GROUP_NAME_LENGTH
from keyfence.domains.products.model import MAX_NAME_LENGTH as PRODUCT_NAME_LENGTH
from keyfence.domains.products.model import MAX_PRICE, MAX_REVISIONS, MAX_SKU_LENGTH
from keyfence.domains.stores.repository import MAX_CANDIDATES
from keyfence.domains.users.model import MAX_NAME_LENGTH, MAX_SETTING_BYTES, MAX_SETTING_NAME_LENGTH, MAX_SETTINGS
from keyfence.email_address import MAX_EMAIL_LENGTH
from keyfence.errors import Code
from keyfence.graphql.query_limits import QueryLimits
from keyfence.graphql.relay_types import DEFAULT_PAGE_SIZE
from keyfence.http.request_body import MAX_BODY_BYTES
from keyfence.http.response import STATUS_BY_CODE
from keyfence.store.cursor import LIFETIME_HOURS
from keyfence.store.key_template import MAX_PATH_BYTES, MAX_PATH_NAME_LENGTH
from keyfence.store.pagination import MAX_PAGE_SIZE
from tests.docs.pages import DOCS, blocks, prose, table

PAGE = DOCS / "reference" / "errors.md"
NAMES_ON_PAGE = {"introspection_depth": "`depth`", "tokens": "tokens"}
"""Limits that the page does not call by the name of their field."""


def test_the_page_has_every_error_code_with_its_status() -> None:
    statuses_on_page = {code.strip("`"): int(status) for code, status, *_ in table(PAGE, "code")}
    assert statuses_on_page == {code.value: STATUS_BY_CODE[code] for code in Code}


def test_the_examples_have_codes_that_exist() -> None:
    assert all(any(f'"code": "{code}"' in example for code in Code) for example in blocks(PAGE, "json"))


def test_the_page_has_every_limit_with_its_number() -> None:
    limits = asdict(QueryLimits())
    assumed_list_size = limits.pop("assumed_list_size")
    expected = [(NAMES_ON_PAGE.get(name, f"`{name}`"), f"{maximum:,}") for name, maximum in limits.items()]
    assert sorted(row[:2] for row in table(PAGE, "limit")) == sorted(expected)
    assert f"a list without `first` counts as {assumed_list_size}" in prose(PAGE)


def test_the_page_has_the_maximum_sizes_of_bodies_and_pages() -> None:
    text = " ".join(prose(PAGE).split())
    assert f"a body of more than {MAX_BODY_BYTES:,} bytes" in text
    assert f"A page has {DEFAULT_PAGE_SIZE} items unless `first` says otherwise, from 1 to {MAX_PAGE_SIZE}." in text
    assert LIFETIME_HOURS == 7 * 24
    assert "good for a week" in text


def test_the_page_has_the_maximum_length_of_each_value() -> None:
    assert MAX_NAME_LENGTH == GROUP_NAME_LENGTH
    assert PRODUCT_NAME_LENGTH == MAX_PATH_NAME_LENGTH
    assert table(PAGE, "value") == [
        ("name of a user or a group", f"{MAX_NAME_LENGTH} characters"),
        ("email", f"{MAX_EMAIL_LENGTH} characters"),
        ("description of a group", f"{MAX_DESCRIPTION_LENGTH:,} characters"),
        ("settings of a user", str(MAX_SETTINGS)),
        ("name of a setting", f"{MAX_SETTING_NAME_LENGTH} characters"),
        ("value of a setting", f"{MAX_SETTING_BYTES:,} bytes of JSON"),
        ("name of a product or a category", f"{PRODUCT_NAME_LENGTH} characters"),
        ("SKU", f"{MAX_SKU_LENGTH} characters"),
        ("path of a category", f"{MAX_PATH_BYTES:,} bytes, where `#`, `%`, blanks and a few more count as three"),
        ("price", f"{MAX_PRICE:,}"),
        ("revisions of a product", f"{MAX_REVISIONS:,}"),
        ("`jti` of a session", f"{MAX_CLAIM_LENGTH} characters"),
        ("stores that a search looks at", f"{MAX_CANDIDATES:,}"),
    ]
