"""Entries of the activity log: expiry, and details that are too large."""

from datetime import UTC, datetime
from decimal import Decimal

import orjson
import pytest

from keyfence.domains.activity.activity_log import Activity, ActivityId, new_activity
from keyfence.store.writes import ActivityNote

NOW = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
MAX_NAME_BYTES = 8_192 - len('{"after":{"name":""}}')


def entry_of(note: ActivityNote) -> Activity:
    return new_activity(ActivityId("act_1"), note, "ann", NOW)


def test_an_entry_expires_after_ninety_days() -> None:
    assert entry_of(ActivityNote("user.created")).ttl == datetime(2027, 2, 14, 8, 30, tzinfo=UTC).timestamp()
    assert entry_of(ActivityNote("user.created")).created_at == NOW


def test_an_entry_has_actor_kind_and_target() -> None:
    entry = entry_of(ActivityNote("user.created", "usr_1", {"after": {"price": Decimal("1.5"), "at": NOW}}))
    assert (entry.actor, entry.kind, entry.target) == ("ann", "user.created", "usr_1")
    assert orjson.loads(entry.detail) == {"after": {"price": "1.50", "at": "2026-11-16T08:30:00+00:00"}}


@pytest.mark.parametrize("name", ["x" * MAX_NAME_BYTES, "é" * (MAX_NAME_BYTES // 2)], ids=["letters", "bytes"])
def test_a_detail_that_fits_is_stored_completely(name: str) -> None:
    assert orjson.loads(entry_of(ActivityNote("user.updated", detail={"after": {"name": name}})).detail)["after"] == {
        "name": name
    }


@pytest.mark.parametrize(
    "name", ["x" * (MAX_NAME_BYTES + 1), "é" * (MAX_NAME_BYTES // 2 + 1)], ids=["letters", "bytes"]
)
def test_a_detail_that_is_too_large_is_replaced_by_the_names_of_its_fields(name: str) -> None:
    detail = {"before": {"role": "MEMBER", "name": "Ann"}, "after": {"name": name}}
    assert orjson.loads(entry_of(ActivityNote("user.updated", detail=detail)).detail) == {"changed": ["name", "role"]}
