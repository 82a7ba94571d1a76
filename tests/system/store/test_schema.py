"""The table is created once, as defined, and differences from its definition are reported."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin, table_definition
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session_token import new_gate_key
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES

_numbers = itertools.count(1)


@pytest.fixture
def admin(engine_url: str) -> Iterator[TableAdmin]:
    """As the one role that may, through a gate."""
    deployment = Deployment(table=f"schema-{next(_numbers)}")
    account = Account.from_definitions(ROLES, deployment)
    with Gate.start(engine_url=engine_url, account=account, key=new_gate_key()) as gate:
        wire = ConnectionOptions(region=deployment.region, endpoint_url=gate.url)
        credentials = gate.session_issuer.issue_service_session("provisioner").credentials
        yield TableAdmin.connect(wire, deployment.table, load_domains().entities.projections, credentials)


def test_a_table_is_created_once_and_then_fits_its_definition(admin: TableAdmin) -> None:
    assert admin.create() is True
    assert admin.create() is False
    assert admin.differences() == []


def test_an_index_that_needs_more_attributes_than_dynamodb_includes_projects_all(admin: TableAdmin) -> None:
    larger = replace(admin, projections={**admin.projections, "gsi1": (*admin.projections["gsi1"], "oneMore")})
    larger.create()
    (index,) = [
        index
        for index in admin.client.describe_table(TableName=admin.table)["Table"]["GlobalSecondaryIndexes"]
        if index["IndexName"] == "GSI1"
    ]
    assert index["Projection"]["ProjectionType"] == "ALL"
    assert larger.differences() == admin.differences() == []


def test_an_index_that_should_project_all_attributes_and_does_not_differs(admin: TableAdmin) -> None:
    admin.create()
    larger = replace(admin, projections={**admin.projections, "gsi1": (*admin.projections["gsi1"], "oneMore")})
    assert larger.differences() == ["the index GSI1 does not project all attributes"]


def test_a_table_without_an_index_attributes_a_stream_or_time_to_live_differs(admin: TableAdmin) -> None:
    wrong = table_definition(admin.table, admin.projections)
    del wrong["StreamSpecification"]
    wrong["GlobalSecondaryIndexes"] = wrong["GlobalSecondaryIndexes"][:2]
    wrong["GlobalSecondaryIndexes"][1]["Projection"]["NonKeyAttributes"].remove("memberCount")
    wrong["AttributeDefinitions"] = wrong["AttributeDefinitions"][:-2]
    admin.client.create_table(**wrong)
    assert admin.differences() == [
        "the index GSI2 does not project memberCount",
        "the index GSI3 is missing",
        "the table has no stream",
        "time to live is not enabled on the attribute ttl",
    ]
