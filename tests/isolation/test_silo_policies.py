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

SAMPLE = tuple(calls() if tier.selected() is tier.Tier.FULL else one_call_of_each_kind())
"""All calls in the full tier, and one of each kind by default: the calls of a kind differ only in the entity."""
OWN_TABLES = {
    TableAccess.POOL: {DEPLOYMENT.table},
    TableAccess.SILO: {SILOS[TENANT]},
    TableAccess.BOTH: {DEPLOYMENT.table, SILOS[TENANT]},
}
TABLES = (DEPLOYMENT.table, *SILOS.values())
TENANT_ROLES = ("tenant-read", "tenant-write", "tenant-migration")
MAKING = ("CreateTable", "DescribeTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive", "DescribeTimeToLive")


def judge(role: str, placement: TableAccess) -> SessionEvaluator:
    text = session_policies(DEPLOYMENT.role_arn(""), DEPLOYMENT.table)[placement.scope]
    whole = SessionEvaluator.of(role, TENANT)
    return whole.with_session_policy(parse_policy_text(text)) if text else whole


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("placement", TableAccess)
@pytest.mark.parametrize("role", TENANT_ROLES)
def test_a_session_reaches_its_own_partitions_in_its_own_tables_and_nothing_more(
    role: str, placement: TableAccess, table: str
) -> None:
    session, caller = judge(role, placement), Caller(role, TENANT)
    mismatches = [
        f"{call} on {place}"
        for call in SAMPLE
        for place, fence in PARTITIONS.items()
        if session.allows(call.operation, call.parameters(table, fence))
        != (table in OWN_TABLES[placement] and caller.may(call, place))
    ]
    assert mismatches == []


@pytest.mark.parametrize("role", sorted(ROLES.keys() - {*TENANT_ROLES}))
@pytest.mark.parametrize("silo", SILOS.values())
def test_no_other_role_reaches_an_item_of_a_silo_by_key(role: str, silo: str) -> None:
    for call in SAMPLE:
        for fence in PARTITIONS.values():
            assert not SessionEvaluator.of(role, None).allows(call.operation, call.parameters(silo, fence)), call


@pytest.mark.parametrize("role", ROLES)
def test_only_the_migrator_creates_deletes_and_scans_silos_and_it_cannot_administer_the_pool(role: str) -> None:
    one = SessionEvaluator.of(role, None)
    for silo in SILOS.values():
        assert {one.allows(operation, {"TableName": silo}) for operation in MAKING} == {role == "migrator"}
        for place in ({}, {"IndexName": "GSI1"}, {"Segment": 1, "TotalSegments": 4}):
            assert one.allows("Scan", {"TableName": silo, **place}) == (role == "migrator")
    if role != "provisioner":
        assert not any(one.allows(operation, {"TableName": DEPLOYMENT.table}) for operation in MAKING)


@pytest.mark.parametrize("tag", ["a1/index/GSI1", "a1*", "*", "", "a1-0/index/GSI1"])
@pytest.mark.parametrize("role", TENANT_ROLES)
def test_a_tag_that_is_no_tenant_id_reaches_no_silo(role: str, tag: str) -> None:
    one = SessionEvaluator.of(role, tag)
    for silo in SILOS.values():
        for call in SAMPLE:
            for place in ("its own", "the neighbour that a careless prefix lets in", "no tenant"):
                assert not one.allows(call.operation, call.parameters(silo, PARTITIONS[place])), (call, place)
