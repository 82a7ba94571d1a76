"""Checks and keys of groups and memberships, without a table."""

from typing import Any

import pytest
from hypothesis import given

from keyfence.domains.groups.access_patterns import groups, memberships
from keyfence.domains.groups.model import (
    MAX_DESCRIPTION_LENGTH,
    MAX_NAME_LENGTH,
    Group,
    GroupId,
    Membership,
    checked_description,
    checked_name,
    is_alive,
)
from keyfence.domains.groups.repository import checked_group_id
from keyfence.errors import BadInput
from keyfence.store.ids import new_id
from keyfence.store.shards import UNSHARDED
from tests.data.bookshop import OPENING
from tests.data.model_strategies import models
from tests.fakes.fences import tenant_fence

ACME = tenant_fence("acme")


def group(name: str = "Ops", **fields: Any) -> Group:
    defaults: dict[str, Any] = {"id": GroupId(new_id("grp")), "created_at": OPENING, "updated_at": OPENING}
    return Group(**{**defaults, "name": name, **fields})


@given(models(Membership))
def test_a_membership_is_restored_from_its_embedded_attributes(membership: Membership) -> None:
    assert Membership.from_attributes(membership.user_id, membership.group_id, membership.attributes) == membership


@given(models(Membership))
def test_the_attributes_of_an_edge_are_plain_text(membership: Membership) -> None:
    assert all(isinstance(value, str) for value in membership.attributes.values())


def test_a_membership_is_one_item_that_is_found_from_user_and_group() -> None:
    membership = Membership.from_attributes(
        "usr_1", "grp_1", {"role": "MANAGER", "joined": f"{OPENING}", "changed": f"{OPENING}", "version": "1"}
    )
    item = memberships.to_item(membership, ACME, UNSHARDED)
    assert (item["PK"]["S"], item["SK"]["S"]) == ("TENANT#acme#USER#usr_1", "GROUP#grp_1")
    assert (item["GSI1PK"]["S"], item["GSI1SK"]["S"]) == (f"{ACME.index_prefix}GROUP#grp_1#00", "USER#usr_1")


@pytest.mark.parametrize("character", ["a", "é", "🙂", "#", "%"])
def test_every_accepted_name_fits_its_key(character: str) -> None:
    name = checked_name(character * MAX_NAME_LENGTH)
    assert groups.to_item(group(name), ACME, UNSHARDED)["GSI2PK"]["S"] == f"{ACME.index_prefix}GROUPS#00"


@pytest.mark.parametrize("name", ["", "  ", "a" * (MAX_NAME_LENGTH + 1), "a\tb"])
def test_an_invalid_name_is_bad_input(name: str) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_name(name)
    assert refusal.value.extensions == {"field": "name"}


def test_groups_are_listed_by_name_and_the_shorter_name_comes_first() -> None:
    names = ["Ops 2", "Ops", "Ops!", "Ops#1", "ops", "Öps", "Opsa"]
    keys = {name: groups.to_item(group(name), ACME, UNSHARDED)["GSI2SK"]["S"] for name in names}
    assert sorted(names, key=keys.__getitem__) == sorted(names)


def test_a_description_may_have_lines_and_at_most_2000_characters() -> None:
    assert checked_description("one\ntwo") == "one\ntwo"
    assert checked_description("") is checked_description(None) is None
    assert checked_description("a" * MAX_DESCRIPTION_LENGTH)
    with pytest.raises(BadInput) as refusal:
        checked_description("a" * (MAX_DESCRIPTION_LENGTH + 1))
    assert refusal.value.extensions == {"field": "description"}


def test_a_lone_surrogate_in_a_description_is_bad_input() -> None:
    with pytest.raises(BadInput):
        checked_description("a\ud800")


def test_a_deleted_group_is_in_no_index() -> None:
    assert is_alive(group())
    assert set(groups.key_attributes(group(), ACME, UNSHARDED)) == {"PK", "SK", "GSI2PK", "GSI2SK"}
    assert set(groups.key_attributes(group(deleted_at=OPENING), ACME, UNSHARDED)) == {"PK", "SK"}


def test_only_ids_with_the_prefix_of_groups_are_group_ids() -> None:
    assert checked_group_id(good := new_id("grp")) == good
    for text in (new_id("usr"), "grp_1", ""):
        with pytest.raises(BadInput):
            checked_group_id(text)
