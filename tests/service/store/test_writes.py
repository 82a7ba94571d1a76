"""The action of a write has exactly the intended effect on the item and its keys."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import Conflict
from keyfence.store.codec import Item
from keyfence.store.expressions import UpdateExpression, absent, equals
from keyfence.store.writes import StaleWrite, Write, check, delete, put, update_attributes, update_model
from tests.data.bookshop import OPENING, Book, book, books
from tests.data.model_strategies import models
from tests.fakes.expressions import apply_update, meets_condition, placeholders
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards

ACME = tenant_fence("acme")
SHARDS = even_shards({"books": 8})
KEY = {"PK": {"S": "TENANT#acme#BOOK#b1"}, "SK": {"S": "METADATA"}}
CHANGE = UpdateExpression(sets={("version",): 2}, removes=(("tags",),))


def render_action(write: Write[Any]) -> tuple[str, dict[str, Any]]:
    ((action, body),) = write.render("keyfence", ACME, SHARDS).items()
    assert body["TableName"] == "keyfence"
    used, defined = placeholders(body)
    assert used == defined
    return action, body


def item(one: Book) -> Item:
    return books.to_item(one, ACME, SHARDS)


def test_a_put_has_the_complete_item_with_all_of_its_keys() -> None:
    action, body = render_action(put(books, book("b1"), when=absent()))
    assert action == "Put"
    assert body["Item"] == item(book("b1"))
    assert meets_condition(body, {})
    assert not meets_condition(body, item(book("b1")))


@given(models(Book), models(Book))
def test_an_update_turns_the_item_of_one_state_into_the_item_of_the_other(before: Book, after: Book) -> None:
    after = replace(after, id=before.id, version=before.version + 1)
    action, body = render_action(update_model(books, before, after))
    assert action == "Update"
    assert meets_condition(body, item(before))
    assert apply_update(body, item(before)) == item(after)


def test_an_update_changes_only_what_differs() -> None:
    _, body = render_action(update_model(books, book("b1"), replace(book("b1"), tags=frozenset({"rare"}), version=2)))
    assert sorted(body["ExpressionAttributeNames"].values()) == ["tags", "version"]
    assert body["Key"] == KEY


def test_an_update_changes_the_keys_that_contain_what_differs() -> None:
    before = book("b1")
    _, body = render_action(update_model(books, before, replace(before, title="Other", version=2)))
    assert sorted(body["ExpressionAttributeNames"].values()) == ["GSI1SK", "title", "version"]
    assert {"S": "Other#b1"} in body["ExpressionAttributeValues"].values()


def test_an_update_removes_an_item_from_an_index_and_adds_it_again() -> None:
    unsold, sold = book("b1"), book("b1", sold_at=OPENING, version=2)
    _, body = render_action(update_model(books, unsold, sold))
    assert "REMOVE" in body["UpdateExpression"]
    assert not {"GSI2PK", "GSI2SK"} & set(apply_update(body, item(unsold)))
    _, body = render_action(update_model(books, sold, replace(unsold, version=3)))
    assert apply_update(body, item(sold))["GSI2PK"] == item(unsold)["GSI2PK"]


def test_an_update_that_empties_a_set_removes_it() -> None:
    before = book("b1", tags=frozenset({"rare"}))
    _, body = render_action(update_model(books, before, replace(before, tags=frozenset(), version=2)))
    assert "tags" not in apply_update(body, item(before))


def test_an_update_needs_the_version_that_was_read_and_its_other_condition() -> None:
    before = book("b1", version=7)
    _, body = render_action(update_model(books, before, replace(before, title="x", version=8), when=absent("soldAt")))
    assert meets_condition(body, item(before))
    assert not meets_condition(body, item(replace(before, version=8)))
    assert not meets_condition(body, item(replace(before, sold_at=OPENING)))
    assert not meets_condition(body, {})


def test_an_update_that_changes_nothing_is_a_condition_check() -> None:
    """DynamoDB rejects an Update without an expression."""
    action, body = render_action(update_model(books, book("b1"), book("b1")))
    assert action == "ConditionCheck"
    assert "UpdateExpression" not in body


def test_an_update_cannot_change_the_table_key() -> None:
    with pytest.raises(TypeError):
        render_action(update_model(books, book("b1"), replace(book("b2"), version=2)))


@pytest.mark.parametrize("name", ["id", "shelf", "title", "note", "createdAt"])
@pytest.mark.parametrize("action", ["sets", "removes", "adds"])
def test_a_change_of_a_key_field_is_refused(name: str, action: str) -> None:
    changes = {
        "sets": UpdateExpression(sets={(name,): "x"}),
        "removes": UpdateExpression(removes=((name,),)),
        "adds": UpdateExpression(adds={(name,): 1}),
    }
    with pytest.raises(TypeError, match="use update_model"):
        update_attributes(books, {"id": "b1"}, changes[action])


def test_a_change_needs_an_existing_item() -> None:
    action, body = render_action(update_attributes(books, {"id": "b1"}, CHANGE, when=equals("version", 1)))
    assert action == "Update"
    assert body["Key"] == KEY
    assert meets_condition(body, item(book("b1")))
    assert not meets_condition(body, {})
    assert not meets_condition(body, item(book("b1", version=2)))


def test_an_empty_change_is_a_condition_check() -> None:
    action, body = render_action(update_attributes(books, {"id": "b1"}, UpdateExpression(), when=absent("soldAt")))
    assert action == "ConditionCheck"
    assert "UpdateExpression" not in body
    assert meets_condition(body, item(book("b1")))
    assert not meets_condition(body, item(book("b1", sold_at=OPENING)))
    assert not meets_condition(body, {})


def test_deletes_and_checks_name_one_item() -> None:
    action, body = render_action(delete(books, {"id": "b1"}))
    assert (action, body["Key"], set(body)) == ("Delete", KEY, {"TableName", "Key"})
    action, body = render_action(check(books, {"id": "b1"}, when=equals("version", 1), on_failure=StaleWrite))
    assert (action, body["Key"]) == ("ConditionCheck", KEY)


def test_a_failed_condition_is_a_conflict_unless_another_error_is_given() -> None:
    assert isinstance(delete(books, {"id": "b1"}).on_failure(), Conflict)
    assert isinstance(put(books, book("b1")).on_failure(), StaleWrite)


@given(st.integers(1, 999), st.integers(1, 999))
def test_an_update_is_bound_to_the_version_of_the_first_state(one: int, other: int) -> None:
    before = book("b1", version=one)
    _, body = render_action(
        update_model(books, before, replace(before, version=one + 1, updated_at=OPENING + timedelta(1)))
    )
    assert meets_condition(body, item(replace(before, version=other))) == (one == other)
