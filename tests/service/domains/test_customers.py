"""Checks and keys of customers, without a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.customers.model import Customer, CustomerId, checked_name
from keyfence.domains.customers.repository import checked_customer_id
from keyfence.email_address import MAX_EMAIL_LENGTH, checked_optional_email
from keyfence.errors import BadInput
from keyfence.store.ids import new_id
from keyfence.store.shards import UNSHARDED
from tests.data.bookshop import OPENING
from tests.fakes.fences import tenant_fence

ACME = tenant_fence("acme")


@pytest.mark.parametrize("email", [None, "a@b", "Zoë+1@bücher.example", "a" * (MAX_EMAIL_LENGTH - 2) + "@b"])
def test_an_email_is_optional_and_returned_unchanged(email: str | None) -> None:
    assert checked_optional_email(email) == email


@given(st.text(st.characters()))
def test_any_text_is_an_email_or_bad_input(text: str) -> None:
    try:
        accepted = checked_optional_email(text)
    except BadInput:
        return
    assert accepted
    assert accepted.encode().count(b"@") == 1
    assert accepted.split() == [accepted]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a" * 201])
def test_a_name_is_one_line_of_at_most_200_characters(name: str) -> None:
    with pytest.raises(BadInput):
        checked_name(name)


def test_a_customer_is_in_the_partition_of_its_orders_and_in_the_list() -> None:
    customer = Customer(id=CustomerId("cus_1"), name="Ann", created_at=OPENING, updated_at=OPENING)
    item = customers.to_item(customer, ACME, UNSHARDED)
    assert (item["PK"]["S"], item["SK"]["S"]) == ("TENANT#acme#CUST#cus_1", "PROFILE")
    assert item["GSI2PK"]["S"] == f"{ACME.index_prefix}CUSTOMERS#00"
    assert "email" not in item


def test_only_ids_with_the_prefix_of_customers_are_customer_ids() -> None:
    assert checked_customer_id(good := new_id("cus")) == good
    for text in (new_id("usr"), "cus_1", ""):
        with pytest.raises(BadInput):
            checked_customer_id(text)
