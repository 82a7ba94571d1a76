"""The page about errors has every error code, every limit of queries, and the maximum length of values."""

from dataclasses import asdict
from datetime import timedelta

from keyfence.auth.claims import MAX_CLAIM_LENGTH
from keyfence.domains.customers import model as customers
from keyfence.domains.groups import model as groups
from keyfence.domains.orders import model as orders
from keyfence.domains.orders.idempotency_key import MAX_KEY_LENGTH, RETENTION
from keyfence.domains.orders.line_items import MAX_LINES, MAX_QUANTITY
from keyfence.domains.products import model as products
from keyfence.domains.stores import model as stores
from keyfence.domains.stores.geohash import MAX_RADIUS_KM
from keyfence.domains.stores.repository import MAX_CANDIDATES
from keyfence.domains.users import model as users
from keyfence.email_address import MAX_EMAIL_LENGTH
from keyfence.errors import Code
from keyfence.graphql.query_limits import QueryLimits
from keyfence.graphql.relay_types import DEFAULT_PAGE_SIZE
from keyfence.http.request_body import MAX_BODY_BYTES
from keyfence.http.response import STATUS_BY_CODE
from keyfence.store.cursor import LIFETIME_HOURS
from keyfence.store.key_template import MAX_PATH_BYTES, MAX_PATH_NAME_LENGTH
from keyfence.store.pagination import MAX_PAGE_SIZE
from tests.docs.pages import DOCS, ROOT, blocks, prose, table, tables
from tests.docs.raised_errors import RaisedError, raised_errors

PAGE = DOCS / "reference" / "errors.md"
NAMES_ON_PAGE = {"introspection_depth": "`depth`", "tokens": "tokens"}
"""Limits that the page does not call by the name of their field."""
MEMBERS_OF_COMMANDS = {"line", "until"}
"""Members of errors that only commands show."""
MESSAGES_WITH_VALUES = {
    "a product has at most 9999 revisions",
    "the user is at version 3, not 2",
    "an order that is PENDING cannot become DELIVERED",
}
"""Messages that the page shows with examples of their values."""
CAUGHT_MESSAGES = {
    "no category can be added to the parent category now",
    "no product can be added to the category now",
    "the move has ended",
}
"""Messages of errors that the domains catch. Callers get another error instead."""


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
    assert f"the body has at most {MAX_BODY_BYTES:,} bytes" in text
    assert f"A page has {DEFAULT_PAGE_SIZE} items if the query does not set `first`." in text
    assert f"`first` can be 1 to {MAX_PAGE_SIZE}." in text
    assert LIFETIME_HOURS == 7 * 24
    assert "A cursor is valid for a week" in text


def test_the_page_has_the_maximum_of_each_value() -> None:
    name_lengths = {users.MAX_NAME_LENGTH, groups.MAX_NAME_LENGTH, customers.MAX_NAME_LENGTH, stores.MAX_NAME_LENGTH}
    assert {*name_lengths, products.MAX_NAME_LENGTH, MAX_PATH_NAME_LENGTH} == {200}
    assert timedelta(days=7) == RETENTION
    assert table(PAGE, "value") == [
        ("name of a user, group, customer, store, product or category", "200 characters"),
        ("email", f"{MAX_EMAIL_LENGTH} characters"),
        ("description of a group", f"{groups.MAX_DESCRIPTION_LENGTH:,} characters"),
        ("settings of a user", str(users.MAX_SETTINGS)),
        ("name of a setting", f"{users.MAX_SETTING_NAME_LENGTH} characters"),
        ("value of a setting", f"{users.MAX_SETTING_BYTES:,} bytes of JSON"),
        ("SKU", f"{products.MAX_SKU_LENGTH} characters"),
        ("path of a category", f'{MAX_PATH_BYTES:,} bytes; a blank and each of `!"#$%` counts as three'),
        ("price", f"{products.MAX_PRICE:,}"),
        ("revisions of a product", f"{products.MAX_REVISIONS:,}"),
        ("items of an order", str(MAX_LINES)),
        ("quantity of an order item", f"{MAX_QUANTITY:,}"),
        ("region of an order", f"{orders.MAX_REGION_LENGTH} characters"),
        ("reason of a flag", f"{orders.MAX_FLAG_REASON_LENGTH} characters"),
        ("note of a status change", f"{orders.MAX_NOTE_LENGTH:,} characters"),
        ("`idempotencyKey`", f"{MAX_KEY_LENGTH} characters, kept for 7 days"),
        ("`jti` of a token", f"{MAX_CLAIM_LENGTH} characters"),
        ("radius of a search for stores", f"{MAX_RADIUS_KM:,} km"),
        ("stores that one search reads", f"{MAX_CANDIDATES:,}"),
    ]


def test_the_page_has_every_conflict_and_throttling_of_the_tenants_api() -> None:
    messages_on_page = [row[0] for rows in tables(PAGE, "message") for row in rows]
    raised = {error.message for error in raised_errors() if _is_seen_by_tenants(error)} - CAUGHT_MESSAGES
    assert [text for text in raised if not any(_is_same_message(text, shown) for shown in messages_on_page)] == []


def test_every_message_on_the_page_is_a_message_of_the_service() -> None:
    code = "".join(path.read_text() for path in (ROOT / "service").rglob("*.py"))
    shown = {row[0] for rows in tables(PAGE, "message") for row in rows} - MESSAGES_WITH_VALUES
    assert [message for message in shown if message not in code] == []


def test_the_page_has_every_member_of_extensions() -> None:
    members_on_page = {member.strip("`") for member, *_ in table(PAGE, "member")}
    raised = {member for error in raised_errors() for member in error.members}
    assert members_on_page == raised - MEMBERS_OF_COMMANDS | {"requestId"}


def _is_seen_by_tenants(error: RaisedError) -> bool:
    is_served = error.module.startswith(("auth/", "domains/", "store/")) and not error.module.endswith("bulk.py")
    return is_served and error.code in {Code.CONFLICT, Code.THROTTLED} and error.message != ""


def _is_same_message(raised: str, shown: str) -> bool:
    """Whether the first clause of a message is on the page. A message with values is known only up to the first."""
    first_clause = raised.split(";", maxsplit=1)[0]
    return shown.startswith(first_clause) or first_clause.startswith(shown)
