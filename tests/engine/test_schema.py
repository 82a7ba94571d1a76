"""The table is created as defined, once, and what differs from its definition is named."""

import itertools

import pytest

from service.store.client import Wire
from service.store.schema import Administration, definition
from tests.conftest import Engines
from tests.world import NOBODY

_numbers = itertools.count(1)


@pytest.fixture(params=["moto", "dynoxide"])
def wire(request: pytest.FixtureRequest, engines: Engines) -> Wire:
    return Wire(region="us-east-1", endpoint_url=engines[request.param].url)


def administration(wire: Wire) -> Administration:
    return Administration.connect(wire, f"schema-{next(_numbers)}", NOBODY)


def test_a_table_is_created_once_and_then_is_as_defined(wire: Wire) -> None:
    admin = administration(wire)
    assert admin.create() is True
    assert admin.create() is False
    assert admin.differences() == []


def test_a_table_that_lacks_an_index_attributes_stream_or_expiry_is_told_apart(wire: Wire) -> None:
    admin = administration(wire)
    wrong = definition(admin.table)
    del wrong["StreamSpecification"]
    wrong["GlobalSecondaryIndexes"] = wrong["GlobalSecondaryIndexes"][:2]
    wrong["GlobalSecondaryIndexes"][1]["Projection"]["NonKeyAttributes"].remove("memberCount")
    wrong["AttributeDefinitions"] = wrong["AttributeDefinitions"][:-2]
    admin.boto.create_table(**wrong)
    assert admin.differences() == [
        "the index GSI2 does not carry memberCount",
        "the index GSI3 is missing",
        "the table has no stream",
        "time to live is not enabled on the attribute ttl",
    ]
