"""A session reaches its own partitions in the tables of its session policy, and nothing else, by every call."""

import pytest

from keyfence_iam.policy import parse_policy_text
from keyfence_iam.roles import ROLES
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.sts.sts_client import session_policies
from tests import tier
from tests.isolation.catalogue_calls import calls, one_call_of_each_kind
from tests.isolation.partitions import PARTITIONS, TENANT, Caller
from tests.isolation.session_evaluator import DEPLOYMENT, SILOS, SessionEvaluator

CALLS = tuple(calls() if tier.selected() is tier.Tier.FULL else one_call_of_each_kind())
"""All calls in the full tier, and one call of each kind by default. The calls of a kind differ only in the entity."""
OWN_TABLES = {
    TableAccess.POOL: {DEPLOYMENT.table},
    TableAccess.SILO: {SILOS[TENANT]},
    TableAccess.BOTH: {DEPLOYMENT.table, SILOS[TENANT]},
}
TABLES = (DEPLOYMENT.table, *SILOS.values())
TENANT_ROLES = ("tenant-read", "tenant-write", "tenant-migration")
TABLE_OPERATIONS = (
    "CreateTable",
    "DescribeTable",
    "UpdateTable",
    "DeleteTable",
    "UpdateTimeToLive",
    "DescribeTimeToLive",
)


def evaluator_of(role: str, table_access: TableAccess) -> SessionEvaluator:
    text = session_policies(DEPLOYMENT.role_arn(""), DEPLOYMENT.table)[table_access.scope]
    evaluator = SessionEvaluator.of(role, TENANT)
    return evaluator.with_session_policy(parse_policy_text(text)) if text else evaluator


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("table_access", TableAccess)
@pytest.mark.parametrize("role", TENANT_ROLES)
def test_a_session_reaches_its_own_partitions_in_its_own_tables_and_nothing_more(
    role: str, table_access: TableAccess, table: str
) -> None:
    session, caller = evaluator_of(role, table_access), Caller(role, TENANT)
    mismatches = [
        f"{call} on {partition}"
        for call in CALLS
        for partition, fence in PARTITIONS.items()
        if session.allows(call.operation, call.parameters(table, fence))
        != (table in OWN_TABLES[table_access] and caller.may(call, partition))
    ]
    assert mismatches == []


@pytest.mark.parametrize("role", sorted(ROLES.keys() - {*TENANT_ROLES}))
@pytest.mark.parametrize("silo", SILOS.values())
def test_no_other_role_reaches_an_item_of_a_silo_by_key(role: str, silo: str) -> None:
    for call in CALLS:
        for fence in PARTITIONS.values():
            assert not SessionEvaluator.of(role, None).allows(call.operation, call.parameters(silo, fence)), call


@pytest.mark.parametrize("role", ROLES)
def test_only_the_migrator_creates_deletes_and_scans_silos_and_it_cannot_administer_the_pool(role: str) -> None:
    evaluator = SessionEvaluator.of(role, None)
    for silo in SILOS.values():
        assert {evaluator.allows(operation, {"TableName": silo}) for operation in TABLE_OPERATIONS} == {
            role == "migrator"
        }
        for scan_options in ({}, {"IndexName": "GSI1"}, {"Segment": 1, "TotalSegments": 4}):
            assert evaluator.allows("Scan", {"TableName": silo, **scan_options}) == (role == "migrator")
    if role != "provisioner":
        assert not any(evaluator.allows(operation, {"TableName": DEPLOYMENT.table}) for operation in TABLE_OPERATIONS)


@pytest.mark.parametrize("tag", ["a1/index/GSI1", "a1*", "*", "", "a1-0/index/GSI1"])
@pytest.mark.parametrize("role", TENANT_ROLES)
def test_a_tag_that_is_no_tenant_id_reaches_no_silo(role: str, tag: str) -> None:
    evaluator = SessionEvaluator.of(role, tag)
    for silo in SILOS.values():
        for call in CALLS:
            for partition in ("its own", "the neighbour whose id begins with its own", "no tenant"):
                assert not evaluator.allows(call.operation, call.parameters(silo, PARTITIONS[partition])), (
                    call,
                    partition,
                )
